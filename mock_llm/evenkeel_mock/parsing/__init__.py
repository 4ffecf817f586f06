"""Values in settings: typed fields and durations."""
