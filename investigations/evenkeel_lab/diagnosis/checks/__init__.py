"""One question each: a pure function from what was recorded to what it says, or None where it does not apply."""
