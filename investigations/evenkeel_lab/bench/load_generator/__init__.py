"""Benchmark of the load generator."""
