"""Benchmark of the journal's stores."""
