"""Benchmarks: ratios against a reference that is measured beside them, in the same run."""

from __future__ import annotations

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
        Bench("mock", "the mock provider's own cost, against FastAPI on uvicorn", bench_mock),
        Bench("failover", "what clients see of accounts that fail, in the real proxy", bench_failover, tuple(PARTS)),
        Bench("callback", "what our Prometheus callback costs and says, against LiteLLM's own", bench_callback),
        Bench("rotation", "what choosing an account costs, against LiteLLM's own choice", bench_rotation),
        Bench("load", "whether a load tells the truth, open against closed", bench_load),
        Bench(
            "report", "how long a report takes, of a million records; and whether it is the same again", bench_report
        ),
        Bench("store", "what keeping rows costs, as ratios of ways to do it", bench_store),
        Bench(
            "verdict", "whether the verdicts hold what they promise, on sessions whose truth is known", bench_verdict
        ),
    )
}
"""All there are, by name."""
