"""Code that runs inside Locust's processes."""
