"""Sampling a subject's Python processes while something is done: py-spy where it may, else the proxy's own probe."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.measurement.counters import tree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel_lab.profiling.stacks import Stack

T = TypeVar("T")
# py-spy halts all threads for each sample: at 400 a second, a proxy kept a tenth of its throughput.
RATE = 100


@dataclass(frozen=True)
class Subject:
    """What is sampled: a process with all that it has started, and the place that its probe knows."""

    pid: int
    place: Path


@dataclass(frozen=True)
class Work:
    """What was done while somebody sampled, or nobody."""

    requests: int
    seconds: float
    each: float | None
    """Milliseconds that one took; None if none was answered."""
    unit: str = "request"


@dataclass(frozen=True)
class Samples:
    """What a sampler has seen."""

    sampler: str
    rate: int
    count: float
    stacks: Mapping[Stack, int]
    """Microseconds of CPU, of its Python processes; all that they have spent."""
    why: str = ""
    """Why no better sampler was used."""


class CannotSample(RigFailure):
    """A sampler cannot be used here."""


class Sampler(Protocol):
    """One way to sample."""

    async def __call__(self, subject: Subject, folder: Path, work: Callable[[], Awaitable[T]]) -> tuple[T, Samples]:
        """Sample while the work is done; raise `CannotSample`, before it has begun, where that cannot be."""


async def record(
    subject: Subject, folder: Path, work: Callable[[], Awaitable[T]], samplers: Sequence[Sampler]
) -> tuple[T, Samples]:
    """Sample with the first sampler that can."""
    why: list[str] = []
    for sampler in samplers:
        try:
            done, found = await sampler(subject, folder, work)
        except CannotSample as error:
            why.append(error.what)
            continue
        return done, replace(found, why=" ".join(why))
    raise RigFailure(f"No profile can be taken here. {' '.join(why)}", hint="Investigate without --profile.")


def pythons(pid: int) -> list[psutil.Process]:
    """Return the processes of a tree that are Python: told by their program, not by what they call themselves."""
    found = []
    for process in tree(pid):
        with contextlib.suppress(psutil.Error):
            if Path(process.exe()).name.lower().startswith("python"):
                found.append(process)
    return found


def cpu(process: psutil.Process) -> float:
    """Return how many seconds of CPU a process has spent; none if it has ended."""
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0
