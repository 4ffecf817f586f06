"""A real stack on demand: one module for each part, each an async context manager."""
