"""Records of requests: written by Locust's processes, merged and read afterwards."""
