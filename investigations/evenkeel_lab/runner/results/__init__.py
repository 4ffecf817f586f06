"""Results of a session: what is stored, and what is derived from it."""
