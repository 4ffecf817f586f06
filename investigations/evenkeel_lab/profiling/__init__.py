"""Profiles: where the CPU of each arm goes, function by function, in one extra run that never counts."""
