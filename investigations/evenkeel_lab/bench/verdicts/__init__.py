"""Benchmark of the verdicts."""
