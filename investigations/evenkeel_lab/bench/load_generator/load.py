"""Correctness of the load generator with a provider that stalls for 1 % of the time, and the cost of a million records.

During a stall, requests wait. An open load sends every request that is due and measures from its due time. The few
users of a closed load wait for their answers and send nothing, so most of the stall is never measured (coordinated
omission).
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pyarrow.parquet as pq

from evenkeel_lab.bench.report.records import make_records
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.servers.mock import mock
from evenkeel_load.analysis.statistics import quantiles
from evenkeel_load.records.folder import RECORDS
from evenkeel_load.run import Fleet, run

if TYPE_CHECKING:
    from evenkeel_lab.progress import Steps
    from evenkeel_load.analysis.summary import Summary

RATE, SECONDS = 500.0, 60.0
TOTAL = int(RATE * SECONDS)
TTFT_MS = 20.0
# The number of users with which a closed load has the same rate without stalls.
CLOSED_USERS = int(RATE * TTFT_MS / 1000)
STALL_SECONDS, EVERY_SECONDS = 0.3, 30.0
P999 = "p99.9"
NS, MS = 1e9, 1000.0
MILLION = 1_000_000
MIB = 1024
"""`ru_maxrss` counts in KiB."""


async def bench_load(steps: Steps) -> list[Metric]:
    """Measure, and return the metrics."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        folder = Path(name)
        async with mock(folder, folder, settings={"latency": {"ttft_ms": TTFT_MS}}) as provider:
            with steps.step(f"open load, {RATE:.0f} a second for {SECONDS:.0f} s, with stalls of 300 ms"):
                began = _stalls(provider.url)
                opened = await _load(provider.url, folder / "open", arrivals="poisson", rate=RATE, duration=SECONDS)
            truth = _truth(folder / "open", began)
            with steps.step(f"closed load, {CLOSED_USERS} users, {TOTAL:,} requests, with the same stalls"):
                _stalls(provider.url)
                closed = await _load(provider.url, folder / "closed", users=CLOSED_USERS, requests=TOTAL)
        with steps.step("a million records: written, merged, summarised"):
            await asyncio.to_thread(make_records, folder / "million", MILLION)
            seconds, mib = await asyncio.to_thread(_summarise, folder / "million")
    (step,), (closed_step,) = opened.steps, closed.steps
    latency, closed_latency = (measured.calls["chat"].latency for measured in (step, closed_step))
    assert step.lag is not None
    assert step.offered is not None
    assert latency is not None
    assert closed_latency is not None
    note = f"injected: {truth:.1f} ms"
    return [
        Metric(
            "schedule_lag_p99_ms", step.lag.quantiles["p99"], "ms", "<= 10", f"p50 {step.lag.quantiles['p50']:.2f} ms"
        ),
        Metric("achieved_share", step.achieved / step.offered, "", ">= 0.99", f"{step.offered:.1f}/s offered"),
        Metric(
            "p999_error_share",
            abs(latency.quantiles[P999] / truth - 1),
            "",
            "<= 0.05",
            f"{note}, open load: {latency.quantiles[P999]:.1f} ms",
        ),
        Metric(
            "closed_loop_p999_error_share",
            abs(closed_latency.quantiles[P999] / truth - 1),
            "",
            None,
            f"{note}, closed load: {closed_latency.quantiles[P999]:.1f} ms",
        ),
        Metric("merge_1m_seconds", seconds, "s", "<= 8", f"{MILLION:,} records, a tenth of them streams"),
        Metric("merge_1m_mib", mib, "MiB", "<= 1536"),
    ]


def _stalls(url: str) -> float:
    """Make the provider stall repeatedly. Return the start of its timeline in nanoseconds."""
    count = int(4 * SECONDS / EVERY_SECONDS)
    timeline = [{"at": (n + 0.5) * EVERY_SECONDS, "for": STALL_SECONDS, "fault": "stall"} for n in range(count)]
    answer = httpx.post(f"{url}/_mock/faults", json=timeline, trust_env=False)
    return float(answer.raise_for_status().json()["started_ns"])


async def _load(url: str, folder: Path, *, users: int = 1, **options: Any) -> Summary:
    summary = await asyncio.to_thread(run, "chat", url, (users,), options, folder, fleet=Fleet(), tell=lambda _: None)
    assert summary is not None
    return summary


def _truth(folder: Path, began_ns: float) -> float:
    """Return the p99.9 in milliseconds of the injected latencies at the times when requests were due."""
    intended = pq.read_table(folder / RECORDS, columns=["intended_ns"])["intended_ns"].to_numpy()
    second = (intended - began_ns) / NS % EVERY_SECONDS - EVERY_SECONDS / 2
    stalled = (second >= 0) & (second < STALL_SECONDS)
    return quantiles(TTFT_MS + np.where(stalled, STALL_SECONDS - second, 0.0) * MS, [0.999])[0]


def _summarise(folder: Path) -> tuple[float, float]:
    """Return the seconds and the MiB that `evenkeel summary` needs in its own process."""
    began = time.monotonic()
    with (folder / "out").open("wb") as out:
        argv = [sys.executable, "-m", "evenkeel_lab", "summary", str(folder), "--json"]
        pid = os.posix_spawn(sys.executable, argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"evenkeel summary ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - began, used.ru_maxrss / MIB
