"""From the records of a run to its statistics."""
