"""Benchmarks: ratios against a reference that is measured beside them, in the same run."""

from __future__ import annotations

from evenkeel_lab.bench.mock import bench_mock
from evenkeel_lab.bench.result import Bench

BENCHES = {"mock": Bench("mock", "the mock provider's own cost, against FastAPI on uvicorn", bench_mock)}
"""All there are, by name."""
