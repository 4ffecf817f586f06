"""All that a run has left behind, read once and frozen. What was not recorded is None, never 0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkeel_lab.diagnosis.latency_breakdown import Split, whole
from evenkeel_lab.diagnosis.processes import Process, between, counted, sampled
from evenkeel_lab.diagnosis.requests import COLUMNS, Requests
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT, Investigation
from evenkeel_lab.runner.measurement.run import FILE, Run
from evenkeel_lab.runner.results.store import HEAD
from evenkeel_load.analysis.summary import Fared, fares, summarise
from evenkeel_load.arrivals import CLOSED
from evenkeel_load.errors import LoadError
from evenkeel_load.records import folder as names
from evenkeel_load.records.merge import merge
from evenkeel_load.records.resource_samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkeel_load.analysis.summary import Step, Summary
    from evenkeel_load.records.resource_samples import Sample

NS, MS = 1e9, 1e3
# Of all cores: what is left then are the gaps between two processes.
FULL = 0.9


@dataclass(frozen=True)
class Rung:
    """One number of users of several that were tried one after another."""

    users: int
    answered: float
    """Requests a second."""
    latency: float
    """The mean, in milliseconds."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """One run."""

    name: str
    step: Step
    requests: Requests
    fared: Fared
    """How the load's own processes fared, and their machine."""
    connections: int | None = None
    """How many the load could open, in all its processes."""
    ladder: tuple[Rung, ...] = ()
    """All steps of its folder, if there are several."""
    torn: int = 0
    """How many files of records were not whole."""
    samples: tuple[Sample, ...] = ()
    processes: tuple[Process, ...] | None = None
    run: Run | None = None
    """What a session has counted; None of a load of one's own."""
    provider_workers: int = 1

    @cached_property
    def split(self) -> Split:
        """Where the time went."""
        return whole(self.requests)

    @property
    def is_closed(self) -> bool:
        """Whether each of so many users waits for its answer before it asks again."""
        return self.step.arrivals == CLOSED

    @property
    def is_direct(self) -> bool:
        """Whether nothing stood between the load and the mock."""
        return self.run is not None and self.run.arm == DIRECT

    @property
    def busiest(self) -> Process | None:
        """The process of the proxy that used most of a core."""
        return max(self.processes or (), key=lambda one: one.each, default=None)

    @property
    def is_cramped(self) -> bool:
        """Whether the machine was full, and nobody counted how long the proxy stood in line for a core."""
        there = self.fared.machine
        counted = any(one.waited is not None for one in self.processes or ())
        return there is not None and there.busy >= FULL * there.cores and not counted

    def figure(self, name: str) -> float | None:
        """Return one that a session has counted."""
        return self.run.figures.get(name) if self.run else None

    def during(self, begin: float, end: float) -> list[Sample]:
        """Return what was sampled between two moments, in seconds since the first request was due."""
        start = self.requests.start_ns / NS
        return between(self.samples, start + begin, start + end)


def read(folder: Path) -> list[Evidence]:
    """Read a folder of records: one run, or one for each number of users that was tried."""
    run = _run(folder / FILE)
    try:
        if (folder / names.RECORDS).exists():
            pq.read_metadata(folder / names.RECORDS)
        merge(folder)
        summary = summarise(folder)
        fared = fares(folder)
        table = pq.read_table(folder / names.RECORDS, columns=list(COLUMNS))
    except LoadError as error:
        raise WrongUse(error.what, hint=error.hint) from error
    except (pa.ArrowException, OSError, KeyError) as error:
        raise WrongUse(
            f"{folder / names.RECORDS} is damaged: {str(error).rstrip('.')}.",
            hint="Restore it, or make the load again.",
        ) from error
    samples, (workers, provider_workers) = read_samples(folder), _session(folder, run)
    found = []
    for step in summary.steps:
        requests = Requests.of(table.filter(pc.equal(table["step"], step.step)))
        begin = requests.start_ns / NS
        own = between(samples, begin, begin + requests.span / MS)
        plan = names.read_json(folder / f"plan-{step.step}.json")
        found.append(
            Evidence(
                name=str(folder)
                if len(summary.steps) == 1
                else f"{folder}, {step.users} user{'s' if step.users > 1 else ''}",
                step=step,
                requests=requests,
                fared=fared.get(step.step, Fared()),
                connections=plan["connections"] * max(1, plan["processes"]) if "connections" in plan else None,
                ladder=_ladder(summary),
                torn=len(list(folder.glob(f"torn-{names.PARTS}"))),
                samples=tuple(own),
                processes=_processes(run, own, workers),
                run=run,
                provider_workers=provider_workers,
            )
        )
    return found


def _processes(run: Run | None, samples: list[Sample], workers: int | None) -> tuple[Process, ...] | None:
    if samples:
        return sampled(samples)
    return counted(run.cpu, run.seconds, workers) if run and run.cpu else None


def _ladder(summary: Summary) -> tuple[Rung, ...]:
    found = []
    for step in summary.steps:
        calls = step.calls.get("all") or next(iter(step.calls.values()), None)
        if calls is not None and calls.latency is not None:
            found.append(Rung(step.users, step.answered, calls.latency.mean))
    return tuple(found) if len(found) > 1 else ()


def _run(path: Path) -> Run | None:
    """Read what a session has written beside the records."""
    if not path.exists():
        return None
    try:
        return Run.of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WrongUse(
            f"{path} is not what a session has written.", hint="Move it away to diagnose the records alone."
        ) from error


def _session(folder: Path, run: Run | None) -> tuple[int | None, int]:
    """Return how many workers the arm's proxy and the mock had, if the session that it is of can say so."""
    told = names.read_json(folder.resolve().parent.parent / HEAD).get("investigation")
    if run is None:
        return None, 1
    try:
        found = Investigation.model_validate(told)
    except ValueError:
        return None, 1
    arm: Mapping[str, object] | object = found.arms.get(found.baseline if run.arm == AGAIN else run.arm)
    return getattr(arm, "workers", None), found.mock.workers
