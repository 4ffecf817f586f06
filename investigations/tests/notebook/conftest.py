"""A made-up session with simple numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT
from evenkeel_lab.runner.measurement.latency_summary import TIMES, Sketch
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.summary import Summary
from evenkeel_lab.runner.schedule import schedule

if TYPE_CHECKING:
    from collections.abc import Callable

START_NS = 1_800_000_000_000_000_000
SECOND_NS = 1_000_000_000
P50 = {"off": 100.0, AGAIN: 100.0, "on": 120.0, "lean": 105.0, DIRECT: 20.0}
PLAIN: dict[str, Any] = {
    "title": "A case",
    "question": "Is it slower?",
    "hypothesis": "It is.",
    "baseline": "off",
    "arms": {"off": {"about": "without"}, "on": {"about": "with"}},
    "figures": {"p50": {"margin": 0.05, "primary": True}, "error_rate": {"margin": 0.005}, "cpu_ms": {"margin": 0.05}},
    "session": {"looks": [8]},
}
ABLATED: dict[str, Any] = {
    "arms": {"off": {"about": "without"}, "on": {"about": "with"}, "lean": {"about": "with less"}},
    "ablation": {"full": "on", "switches": {"lookups": {"about": "no lookups", "arm": "lean"}}},
    "expected": [
        {
            "source": "a seed",
            "claim": "a third",
            "arm": "on",
            "figures": {"p50": 0.33},
            "runs": {"off": {"p95": [200.0] * 6}, "on": {"p95": [220.0, 221.0, 219.0, 220.0, 222.0, 218.0]}},
        }
    ],
}


def summary_of(pairs: int = 8, *, limited: tuple[int, str] = (0, ""), **changes: Any) -> Summary:
    investigation = Investigation.model_validate(PLAIN | changes)
    source = np.random.default_rng(1)
    done, sketches, now = {}, {}, START_NS
    for scheduled in schedule(investigation, pairs):
        runs = []
        for core, arm in enumerate(scheduled.arms):
            value = P50[arm] + source.normal(0, 0.5)
            figures = {"p50": value, "mean": 1.1 * value, "throughput": 20_000 / value, "error_rate": 0.0}
            if arm != DIRECT:
                figures["cpu_ms"] = value / 10
            if investigation.arms[investigation.baseline].function:
                figures = {"value": value}
            why = ("requests were sent late",) if (scheduled.pair, arm) == limited else ()
            runs.append(Run(arm, now, 8.0, 900, figures, {"python": 4.0, "node": 1.0}, limited=why, cores=(core,)))
        done[scheduled.name] = runs
        sketches[scheduled.name] = {
            run.arm: Sketch({"0.5": run.figures["p50"], "0.9": 2 * run.figures["p50"]}, [[0] * 24] * TIMES)
            for run in runs
            if "p50" in run.figures
        }
        now += 10 * SECOND_NS
    return Summary("case", investigation, {}, {"off": {"costs": [60], "steady": True}}, done, sketches)


@pytest.fixture
def case() -> Callable[..., Summary]:
    """Return a function that makes a session in which `on` is slower than `off` by 20 %, and `lean` by 5 %."""
    return summary_of


@pytest.fixture
def ablated() -> Summary:
    """A session with an ablation, a published claim, and a pair that does not count."""
    return summary_of(limited=(3, "on"), **ABLATED)
