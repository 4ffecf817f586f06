"""Figures that a run may have, and how two runs are compared by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse, nearest
from evenkeel_lab.stats import Margin, Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

FACTOR, POINTS = Scale.FACTOR, Scale.POINTS


@dataclass(frozen=True)
class Figure:
    """One figure of a run."""

    name: str
    about: str
    unit: str
    usual: Margin
    """How much of a difference does not matter, if nobody says otherwise."""
    more_is_worse: bool = True
    is_part: bool = False
    """Whether a candidate's is told as a part of the baseline's, as that of a whole."""


def _latency(name: str, about: str, share: float) -> Figure:
    return Figure(name, about, "ms", Margin(FACTOR, share))


FIGURES = {
    figure.name: figure
    for figure in (
        _latency("p50", "the median latency: from when a request was to be sent until its answer was there", 0.05),
        _latency("p90", "nine of ten requests are at least this fast", 0.05),
        _latency("p95", "95 of 100 requests are at least this fast", 0.10),
        _latency("p99", "99 of 100 requests are at least this fast", 0.10),
        _latency("p99.9", "999 of 1,000 requests are at least this fast", 0.20),
        _latency("mean", "the mean latency", 0.05),
        _latency("ttft_p50", "the median time to a stream's first token", 0.05),
        _latency("ttft_p99", "99 of 100 streams begin at least this soon", 0.10),
        _latency("added_p50", "the median of what the proxy adds, there and back", 0.05),
        Figure("throughput", "requests that succeed in a second", "/s", Margin(FACTOR, 0.05), more_is_worse=False),
        Figure("above_1s", "the share of requests above one second", "", Margin(POINTS, 0.01)),
        Figure("above_5s", "the share of requests above five seconds", "", Margin(POINTS, 0.01)),
        Figure("error_rate", "the share of requests that failed", "", Margin(POINTS, 0.005)),
        Figure("cpu_ms", "CPU time of all processes of the proxy, for a request", "ms", Margin(FACTOR, 0.05)),
        Figure("memory_mib", "the largest memory of the proxy", "MiB", Margin(FACTOR, 0.10)),
        Figure("loop_lag", "how late the proxy's event loop is, in the mean", "ms", Margin(FACTOR, 0.20)),
        Figure("database_calls", "transactions in Postgres for a request", "", Margin(FACTOR, 0.05, 0.05)),
        Figure("prisma_calls", "operations of LiteLLM's database client for a request", "", Margin(FACTOR, 0.05, 0.05)),
        Figure("valkey_calls", "commands to Valkey, in Redis' place, for a request", "", Margin(FACTOR, 0.05, 0.05)),
        Figure(
            "lock_waits",
            "the share of seconds in which Postgres had the proxy wait for a lock",
            "",
            Margin(POINTS, 0.01),
        ),
        Figure(
            "journal_locked",
            "writes of the journal that found its file locked by another worker, for each request",
            "",
            Margin(POINTS, 0.01),
        ),
        Figure("switches", "context switches of the proxy for a request", "", Margin(FACTOR, 0.20)),
        Figure("value", "what a function of the project's own has measured", "", Margin(FACTOR, 0.05)),
    )
}
"""All there are, by name."""


def figure(name: str) -> Figure:
    """Return one; an unknown name is an error that says the nearest one."""
    if name not in FIGURES:
        raise WrongUse(f"There is no figure {name!r}.", hint=nearest(name, FIGURES))
    return FIGURES[name]


def ordered(names: Sequence[str]) -> list[str]:
    """Return names in the order of the table above."""
    return [name for name in FIGURES if name in set(names)]
