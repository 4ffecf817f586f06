"""Sample a subject's Python processes during some work: with py-spy where it may, else with the proxy's own probe."""

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
# py-spy pauses all threads for each sample. At 400 a second, a proxy had a tenth of its throughput left.
RATE = 100


@dataclass(frozen=True)
class Subject:
    """A process with its descendants, and the path next to which its probe writes."""

    pid: int
    path: Path


@dataclass(frozen=True)
class Work:
    """Work that was done, with a sampler or without one."""

    requests: int
    seconds: float
    each: float | None
    """Milliseconds of one request; `None` if none was answered."""
    unit: str = "request"


@dataclass(frozen=True)
class Samples:
    """The result of a sampler."""

    sampler: str
    rate: int
    count: float
    stacks: Mapping[Stack, int]
    """Microseconds of CPU by stack: all CPU time of the Python processes."""
    why: str = ""
    """Why a better sampler was not used."""


class CannotSample(RigFailure):
    """A sampler cannot be used here."""


class Sampler(Protocol):
    """Interface of a sampler."""

    async def __call__(self, subject: Subject, folder: Path, work: Callable[[], Awaitable[T]]) -> tuple[T, Samples]:
        """Sample while the work is done. Raise `CannotSample` before the work begins if that is impossible."""


async def record(
    subject: Subject, folder: Path, work: Callable[[], Awaitable[T]], samplers: Sequence[Sampler]
) -> tuple[T, Samples]:
    """Sample with the first sampler that works here."""
    why: list[str] = []
    for sampler in samplers:
        try:
            done, samples = await sampler(subject, folder, work)
        except CannotSample as error:
            why.append(error.what)
            continue
        return done, replace(samples, why=" ".join(why))
    raise RigFailure(f"No profile can be taken here. {' '.join(why)}", hint="Investigate without --profile.")


def pythons(pid: int) -> list[psutil.Process]:
    """Return the Python processes of a tree. The executable decides, not the title of a process."""
    processes = []
    for process in tree(pid):
        with contextlib.suppress(psutil.Error):
            if Path(process.exe()).name.lower().startswith("python"):
                processes.append(process)
    return processes


def cpu(process: psutil.Process) -> float:
    """Return the CPU time of a process in seconds; 0 if it has ended."""
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0
