"""Simulated sessions, small and different in one property at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pytest

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.profiling.profile import ArmProfile, Profile
from evenkeel_lab.profiling.stacks import functions
from evenkeel_lab.runner.measurement.latency_summary import EDGES_MS, GRID, LEAST_BEYOND, TIMES, Sketch
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.summary import Summary
from evenkeel_lab.runner.schedule import schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.profiling.stacks import Stack

START, STEP = 1_800_000_000_000_000_000, 14 * 10**9
PROVENANCE = {
    "machine": "x86_64",
    "processor": "Example CPU",
    "cores": 2,
    "memory_gib": 8,
    "kernel": "Linux 6.1",
    "python": "3.11.9",
    "versions": {"numpy": "2.3"},
    "commit": "0123456789abcdef",
    "dirty": False,
    "engine": "cached",
}
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Simulate(Protocol):
    """Function that simulates a session. `spec` changes the investigation, `changes` the summary."""

    def __call__(
        self,
        spec: Mapping[str, Any] | None = None,
        *,
        effects: Mapping[str, float] | None = None,
        pairs: int = 6,
        limited: Callable[[int, str], bool] = ...,
        why: str = ...,
        requests: int = 400,
        pinned: bool = True,
        waited: float = 0.0,
        climb: float = 1.0,
        **changes: Any,
    ) -> Summary: ...


def investigation_of(**changes: Any) -> Investigation:
    fields: dict[str, Any] = {
        "title": "What a callback costs",
        "question": "Is it slower?",
        "hypothesis": "It is not.",
        "baseline": "off",
        "arms": {"off": {"about": "without callbacks"}, "on": {"about": "with one", "prometheus": "stock"}},
        "figures": {"p50": {"margin": 0.05, "primary": True}},
        "session": {"looks": [6]},
    }
    return Investigation.model_validate(fields | changes)


def _sketch(latencies: Any) -> Sketch:
    shares = [share for share in GRID if len(latencies) * min(share, 1 - share) >= LEAST_BEYOND]
    bins = np.arange(len(latencies)) * TIMES // len(latencies)
    counts, _, _ = np.histogram2d(bins, latencies, bins=(np.arange(TIMES + 1), EDGES_MS))
    return Sketch({str(share): float(np.quantile(latencies, share)) for share in shares}, counts.astype(int).tolist())


@pytest.fixture
def profile() -> Profile:
    """A profile of two arms. Each spends its time in two functions."""
    stacks: dict[Stack, int] = {("a.py:run", "a.py:complete"): 6_000_000, ("a.py:run", "b.py:log"): 2_000_000}
    taken = ArmProfile("py-spy", "", 100, 15.0, 500, "request", 1500, 16.0, 1.0, None, None, stacks, functions(stacks))
    return Profile("case", "0" * 12, "off", {}, {"off": taken, "on": taken}, {})


@pytest.fixture
def simulate() -> Simulate:
    def simulated(
        spec: Mapping[str, Any] | None = None,
        *,
        effects: Mapping[str, float] | None = None,
        pairs: int = 6,
        limited: Callable[[int, str], bool] = lambda _pair, _arm: False,
        why: str = "requests were sent late",
        requests: int = 400,
        pinned: bool = True,
        waited: float = 0.0,
        climb: float = 1.0,
        **changes: Any,
    ) -> Summary:
        investigation = investigation_of(**(spec or {}))
        functions = investigation.arms[investigation.baseline].function
        levels = {"on": 1.2, "direct": 0.2} | dict(effects or {})
        source, done, sketches, now = np.random.default_rng(1), {}, {}, START
        for scheduled in schedule(investigation, pairs):
            common, runs = source.normal(0, 0.05), []
            sketches[scheduled.name] = {}
            for core, arm in enumerate(scheduled.arms):
                level = 100 * levels.get(arm, 1.0) * np.exp(common + source.normal(0, 0.01))
                latencies = level * np.exp(source.normal(0, 0.3, requests))
                latencies[requests // 2 :] *= climb
                figures = {name: float(np.quantile(latencies, share)) for name, share in QUANTILES.items()}
                figures |= {"cpu_ms": level / 10, "mean": float(latencies.mean()), "error_rate": 0.0}
                figures["throughput"] = 1e5 / level
                spent: dict[str, Any] = {}
                if functions:
                    figures = {"value": level}
                else:
                    sketches[scheduled.name][arm] = _sketch(latencies)
                    spent["cpu"] = {"litellm": level / 10_000 * requests}
                    spent["operations"] = {"UserTable.findUnique": requests if arm == "on" else 0}
                reasons = (why,) if limited(scheduled.pair, arm) else ()
                cores = (core,) if pinned else ()
                runs.append(Run(arm, now, 8.0, requests, figures, **spent, limited=reasons, cores=cores, waited=waited))
            done[scheduled.name] = runs
            now += STEP
        fields = {"name": "case", "provenance": PROVENANCE, "warm_up": {}} | changes
        return Summary(investigation=investigation, done=done, sketches=sketches, **fields)

    return simulated
