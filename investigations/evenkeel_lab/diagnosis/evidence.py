"""Recorded data of a run, read once. Values that were not recorded are `None`, never 0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkeel_lab.diagnosis.latency_breakdown import Split, split_of
from evenkeel_lab.diagnosis.processes import Process, between, processes_of_run, processes_of_samples
from evenkeel_lab.diagnosis.requests import COLUMNS, Requests
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT, Investigation
from evenkeel_lab.runner.measurement.run import FILE, Run
from evenkeel_lab.runner.results.store import HEAD
from evenkeel_load.analysis.summary import ProcessHealth, process_health, summarise
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
# Share of all cores from which on a machine counts as full: the rest are the gaps between two processes.
FULL = 0.9


@dataclass(frozen=True)
class LadderStep:
    """One step of a load that was repeated with growing numbers of users."""

    users: int
    answered: float
    """Requests per second."""
    latency: float
    """Mean latency in milliseconds."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Data of one run."""

    name: str
    step: Step
    requests: Requests
    health: ProcessHealth
    """Resource usage of the load generator's processes, and of their machine."""
    connections: int | None = None
    """Maximum number of connections of all processes of the load generator together."""
    ladder: tuple[LadderStep, ...] = ()
    """Steps of the whole load; empty if there is only one."""
    torn: int = 0
    """Number of truncated record files."""
    samples: tuple[Sample, ...] = ()
    processes: tuple[Process, ...] | None = None
    run: Run | None = None
    """Counters of an investigation's run; `None` for a load outside of an investigation."""
    provider_workers: int = 1

    @cached_property
    def split(self) -> Split:
        """Latency of all requests, split into its parts."""
        return split_of(self.requests)

    @property
    def is_closed(self) -> bool:
        """Whether the arrivals are closed: each user sends the next request after the answer to the last one."""
        return self.step.arrivals == CLOSED

    @property
    def is_direct(self) -> bool:
        """Whether the load went straight to the mock provider."""
        return self.run is not None and self.run.arm == DIRECT

    @property
    def busiest(self) -> Process | None:
        """Process of the proxy that used most of a core; `None` if its processes were not recorded."""
        return max(self.processes or (), key=lambda process: process.each, default=None)

    @property
    def is_cramped(self) -> bool:
        """Whether the machine was full, and it was not recorded how long the proxy waited for a core."""
        machine = self.health.machine
        counted = any(process.waited is not None for process in self.processes or ())
        return machine is not None and machine.busy >= FULL * machine.cores and not counted

    def metric(self, name: str) -> float | None:
        """Return a metric of an investigation's run, or `None` if it was not recorded."""
        return self.run.figures.get(name) if self.run else None

    def during(self, begin: float, end: float) -> list[Sample]:
        """Return what was processes_of_samples between two moments, in seconds since the first request was due."""
        start = self.requests.start_ns / NS
        return between(self.samples, start + begin, start + end)


def read(folder: Path) -> list[Evidence]:
    """Read a folder of records. Return one run, or one for each step of the load."""
    run = _run(folder / FILE)
    try:
        if (folder / names.RECORDS).exists():
            pq.read_metadata(folder / names.RECORDS)
        merge(folder)
        summary = summarise(folder)
        health = process_health(folder)
        table = pq.read_table(folder / names.RECORDS, columns=list(COLUMNS))
    except LoadError as error:
        raise WrongUse(error.what, hint=error.hint) from error
    except (pa.ArrowException, OSError, KeyError) as error:
        raise WrongUse(
            f"{folder / names.RECORDS} is damaged: {str(error).rstrip('.')}.",
            hint="Restore the file, or run the load again.",
        ) from error
    samples, (workers, provider_workers) = read_samples(folder), _session(folder, run)
    evidence = []
    for step in summary.steps:
        requests = Requests.of(table.filter(pc.equal(table["step"], step.step)))
        begin = requests.start_ns / NS
        own = between(samples, begin, begin + requests.span / MS)
        plan = names.read_json(folder / f"plan-{step.step}.json")
        evidence.append(
            Evidence(
                name=str(folder)
                if len(summary.steps) == 1
                else f"{folder}, {step.users} user{'s' if step.users > 1 else ''}",
                step=step,
                requests=requests,
                health=health.get(step.step, ProcessHealth()),
                connections=plan["connections"] * max(1, plan["processes"]) if "connections" in plan else None,
                ladder=_ladder(summary),
                torn=len(list(folder.glob(f"torn-{names.PARTS}"))),
                samples=tuple(own),
                processes=_processes(run, own, workers),
                run=run,
                provider_workers=provider_workers,
            )
        )
    return evidence


def _processes(run: Run | None, samples: list[Sample], workers: int | None) -> tuple[Process, ...] | None:
    if samples:
        return processes_of_samples(samples)
    return processes_of_run(run.cpu, run.seconds, workers) if run and run.cpu else None


def _ladder(summary: Summary) -> tuple[LadderStep, ...]:
    rungs = []
    for step in summary.steps:
        calls = step.calls.get("all") or next(iter(step.calls.values()), None)
        if calls is not None and calls.latency is not None:
            rungs.append(LadderStep(step.users, step.answered, calls.latency.mean))
    return tuple(rungs) if len(rungs) > 1 else ()


def _run(path: Path) -> Run | None:
    """Read the run of an investigation beside the records; `None` if there is none."""
    if not path.exists():
        return None
    try:
        return Run.of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WrongUse(
            f"{path}: expected a run as an investigation writes it, got another document.",
            hint="Move the file away to diagnose the records alone.",
        ) from error


def _session(folder: Path, run: Run | None) -> tuple[int | None, int]:
    """Return the workers of the arm's proxy (`None` if unknown) and of the mock (1 if unknown)."""
    document = names.read_json(folder.resolve().parent.parent / HEAD).get("investigation")
    if run is None:
        return None, 1
    try:
        investigation = Investigation.model_validate(document)
    except ValueError:
        return None, 1
    arm: Mapping[str, object] | object = investigation.arms.get(investigation.baseline if run.arm == AGAIN else run.arm)
    return getattr(arm, "workers", None), investigation.mock.workers
