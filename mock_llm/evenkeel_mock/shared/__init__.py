"""State that all worker processes share."""
