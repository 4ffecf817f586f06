"""Metrics of a run, and the usual margin of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    is_of_functions: bool = False
    """Whether functions measure it, and loads do not."""
    title: str = ""
    """Its name in words."""


def _latency(name: str, about: str, share: float) -> Metric:
    return Metric(name, about, "ms", Margin(FACTOR, share))


def _of_drill(name: str, about: str, points: float, *, more_is_worse: bool = True) -> Metric:
    return Metric(name, about, "", Margin(POINTS, points), more_is_worse, is_of_functions=True)


TITLES = {
    "p50": "median latency",
    "p90": "p90 of latency",
    "p95": "p95 of latency",
    "p99": "p99 of latency",
    "p99.9": "p99.9 of latency",
    "mean": "mean latency",
    "ttft_p50": "median time to the first token",
    "ttft_p99": "p99 of the time to the first token",
    "added_p50": "median of what the proxy adds",
    "above_1s": "requests above 1 s",
    "above_5s": "requests above 5 s",
    "first_above_5s": "first requests above 5 s",
    "first_slowest": "slowest of the first requests",
    "error_rate": "failed requests",
    "cpu_ms": "CPU time of a request",
    "memory_mib": "memory",
    "loop_lag": "lag of the event loop",
    "database_calls": "database transactions",
    "prisma_calls": "database operations",
    "valkey_calls": "commands to Valkey",
    "lock_waits": "waits for database locks",
    "journal_locked": "locked journal writes",
    "switches": "context switches",
    "success_share": "served requests",
    "avoidable_share": "avoidable failures",
    "refused_share": "refusals that clients saw",
    "no_retry_after": "refusals without Retry-After",
    "wasted_share": "wasted responses",
    "over_limit_share": "attempts beyond a limit",
    "unfair_share": "missing share of the worst treated client",
    "capacity_share": "used capacity",
    "seen_in_log": "failures seen in the log",
    "seen_in_metrics": "failures seen in metrics",
    "recovery_s": "time to recover",
    "attempts": "attempts for a request",
}
"""Names of metrics in words. The others are words themselves."""
METRICS = {
    metric.name: replace(metric, title=TITLES.get(metric.name, metric.name))
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
        _of_drill("success_share", "the share of requests that succeeded", 0.001, more_is_worse=False),
        _of_drill(
            "avoidable_share", "the share of requests that failed while an account would have served them", 0.001
        ),
        _of_drill("refused_share", "the share of requests whose client saw a 401, 403, 429 or 503", 0.001),
        _of_drill("no_retry_after", "the share of requests whose refusal did not say when to come back", 0.001),
        _of_drill("wasted_share", "the share of answers that providers began and no client got", 0.001),
        _of_drill(
            "over_limit_share",
            "attempts beyond an account's limit, as a share of the limit; the worst account, 100 % at most",
            0.01,
        ),
        _of_drill("unfair_share", "the share of its due that the worst treated client did not get", 0.05),
        _of_drill("capacity_share", "served requests, as a share of those that could be", 0.02, more_is_worse=False),
        _of_drill("seen_in_log", "the share of runs whose log names the failure", 0.1, more_is_worse=False),
        _of_drill("seen_in_metrics", "the share of runs whose metrics count the failure", 0.1, more_is_worse=False),
        Metric(
            "recovery_s",
            "seconds from the reset of exhausted accounts until the service is well again",
            "s",
            Margin(FACTOR, 0.2, 0.5),
            is_of_functions=True,
        ),
        Metric("attempts", "attempts at accounts, for a request", "", Margin(FACTOR, 0.02, 0.01), is_of_functions=True),
        Metric(
            "value",
            "what a function of the project's own has measured",
            "",
            Margin(FACTOR, 0.05),
            is_of_functions=True,
        ),
    )
}
"""All metrics, by name."""


def title(name: str) -> str:
    """Return the name of a metric in words."""
    return METRICS[name].title


def metric_named(name: str) -> Metric:
    """Return the metric `name`, or raise `WrongUse` with the nearest name."""
    if name not in METRICS:
        raise WrongUse(f"There is no metric {name!r}.", hint=nearest(name, METRICS))
    return METRICS[name]


def ordered(names: Sequence[str]) -> list[str]:
    """Return `names` in the order of `METRICS`."""
    return [name for name in METRICS if name in set(names)]
