"""What runs inside Locust's processes."""
