"""One run: its load, its subject, and what the subject spent."""
