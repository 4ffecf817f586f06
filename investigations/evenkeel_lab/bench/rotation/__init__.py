"""Benchmark of a pick."""
