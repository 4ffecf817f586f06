"""A provider you can reason about."""
