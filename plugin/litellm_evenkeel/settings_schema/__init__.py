"""Loading and documentation of settings, for any tree of settings."""
