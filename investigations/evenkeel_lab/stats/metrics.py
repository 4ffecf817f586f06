"""Metrics of a run, and the usual margin of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse, nearest
from evenkeel_lab.stats import Margin, Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

FACTOR, POINTS = Scale.FACTOR, Scale.POINTS


@dataclass(frozen=True)
class Metric:
    """One metric of a run."""

    name: str
    about: str
    unit: str
    usual: Margin
    """Margin, unless the investigation states another."""
    more_is_worse: bool = True
    is_part: bool = False
    """Whether reports show a candidate's value as a part of the baseline's."""


def _latency(name: str, about: str, share: float) -> Metric:
    return Metric(name, about, "ms", Margin(FACTOR, share))


METRICS = {
    metric.name: metric
    for metric in (
        _latency("p50", "the median latency: from when a request was to be sent until its answer was there", 0.05),
        _latency("p90", "nine of ten requests are at least this fast", 0.05),
        _latency("p95", "95 of 100 requests are at least this fast", 0.10),
        _latency("p99", "99 of 100 requests are at least this fast", 0.10),
        _latency("p99.9", "999 of 1,000 requests are at least this fast", 0.20),
        _latency("mean", "the mean latency", 0.05),
        _latency("ttft_p50", "the median time to a stream's first token", 0.05),
        _latency("ttft_p99", "99 of 100 streams begin at least this soon", 0.10),
        _latency("added_p50", "the median of what the proxy adds, there and back", 0.05),
        Metric("throughput", "requests that succeed in a second", "/s", Margin(FACTOR, 0.05), more_is_worse=False),
        Metric("above_1s", "the share of requests above one second", "", Margin(POINTS, 0.01)),
        Metric("above_5s", "the share of requests above five seconds", "", Margin(POINTS, 0.01)),
        Metric(
            "first_above_5s",
            "the share above five seconds of the requests of the first twentieth of a run",
            "",
            Margin(POINTS, 0.01),
        ),
        _latency("first_slowest", "the slowest request of the first twentieth of a run", 0.10),
        Metric("error_rate", "the share of requests that failed", "", Margin(POINTS, 0.005)),
        Metric("cpu_ms", "CPU time of all processes of the proxy, for a request", "ms", Margin(FACTOR, 0.05)),
        Metric("memory_mib", "the largest memory of the proxy", "MiB", Margin(FACTOR, 0.10)),
        Metric("loop_lag", "how late the proxy's event loop is, in the mean", "ms", Margin(FACTOR, 0.20)),
        Metric("database_calls", "transactions in Postgres for a request", "", Margin(FACTOR, 0.05, 0.05)),
        Metric("prisma_calls", "operations of LiteLLM's database client for a request", "", Margin(FACTOR, 0.05, 0.05)),
        Metric("valkey_calls", "commands to Valkey, in Redis' place, for a request", "", Margin(FACTOR, 0.05, 0.05)),
        Metric(
            "lock_waits",
            "the share of seconds in which Postgres had the proxy wait for a lock",
            "",
            Margin(POINTS, 0.01),
        ),
        Metric(
            "journal_locked",
            "writes of the journal that found its file locked by another worker, for each request",
            "",
            Margin(POINTS, 0.01),
        ),
        Metric("switches", "context switches of the proxy for a request", "", Margin(FACTOR, 0.20)),
        Metric("value", "what a function of the project's own has measured", "", Margin(FACTOR, 0.05)),
    )
}
"""All metrics, by name."""


def metric_named(name: str) -> Metric:
    """Return the metric `name`, or raise `WrongUse` with the nearest name."""
    if name not in METRICS:
        raise WrongUse(f"There is no metric {name!r}.", hint=nearest(name, METRICS))
    return METRICS[name]


def ordered(names: Sequence[str]) -> list[str]:
    """Return `names` in the order of `METRICS`."""
    return [name for name in METRICS if name in set(names)]
