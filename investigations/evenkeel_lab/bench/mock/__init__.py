"""Benchmark of the mock provider."""
