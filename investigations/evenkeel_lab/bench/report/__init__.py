"""Benchmark of a report."""
