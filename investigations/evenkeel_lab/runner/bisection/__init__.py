"""Search for the release that changed a metric."""
