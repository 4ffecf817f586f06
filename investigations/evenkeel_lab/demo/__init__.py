"""The demonstration: eight accounts fail in turn, behind a stock proxy and behind one with the rotation."""
