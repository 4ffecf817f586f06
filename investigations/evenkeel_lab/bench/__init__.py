"""Benchmarks: metrics with bounds, most of them ratios to a reference that is measured in the same run."""

from __future__ import annotations

from evenkeel_lab.bench.bisection import bench_bisect
from evenkeel_lab.bench.failover import PARTS, bench_failover
from evenkeel_lab.bench.journal_store.store import bench_store
from evenkeel_lab.bench.load_generator.load import bench_load
from evenkeel_lab.bench.mock.mock import bench_mock
from evenkeel_lab.bench.prometheus_callback import bench_callback
from evenkeel_lab.bench.report.report import bench_report
from evenkeel_lab.bench.result import Bench
from evenkeel_lab.bench.rotation.pick import bench_rotation
from evenkeel_lab.bench.verdicts.verdict import bench_verdict

BENCHES = {
    bench.name: bench
    for bench in (
        Bench("mock", "the CPU cost of the mock provider, against FastAPI on uvicorn", bench_mock),
        Bench(
            "failover",
            "failing accounts behind the real proxy, as clients see them",
            bench_failover,
            parts=tuple(PARTS),
        ),
        Bench("bisect", "searches for regressions that were planted into a LiteLLM", bench_bisect, takes_hours=True),
        Bench("callback", "cost and metrics of our Prometheus callback, against LiteLLM's own", bench_callback),
        Bench("rotation", "the cost of a pick, against LiteLLM's own router", bench_rotation),
        Bench("load", "correctness of the load generator, open against closed loads", bench_load),
        Bench("report", "duration and reproducibility of a report of a million records", bench_report),
        Bench("store", "cost ratios of ways to store records", bench_store),
        Bench("verdict", "error rates of the verdicts on simulated sessions", bench_verdict),
    )
}
"""All benchmarks by name."""
