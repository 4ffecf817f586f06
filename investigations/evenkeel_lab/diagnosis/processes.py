"""What the processes of a proxy used: of a session's run, counted before and after; of a load, second after second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_load.records.resource_samples import Sample

PYTHON = "python"


@dataclass(frozen=True)
class Process:
    """A program of the proxy's, in the mean over a load."""

    name: str
    pid: int | None
    """None where a program's processes were counted together."""
    count: int
    """Of how many processes this is the sum."""
    used: float
    """Cores."""
    waited: float | None
    """For which share of the time its main thread stood in line for a core; None where nobody knows."""

    @property
    def each(self) -> float:
        """Cores of one process."""
        return self.used / self.count

    @property
    def wanted(self) -> float:
        """Cores of one process that it used, or stood in line for: nobody else could be served meanwhile."""
        return self.each + (self.waited or 0.0)

    @property
    def title(self) -> str:
        """What it is called."""
        if self.pid is not None:
            return f"{self.name} (process {self.pid})"
        return f"{self.name} ({self.count} processes)" if self.count > 1 else self.name


def counted(cpu: Mapping[str, float], seconds: float, workers: int | None) -> tuple[Process, ...]:
    """Return what a session's run has counted."""
    # Its workers are Python's, below a process that only watches them; whatever else there is runs once.
    return tuple(
        Process(name, None, (workers or 1) if name.startswith(PYTHON) else 1, spent / seconds, None)
        for name, spent in sorted(cpu.items(), key=lambda one: -one[1])
        if seconds > 0
    )


def between(samples: Sequence[Sample], begin: float, end: float) -> list[Sample]:
    """Return the samples that fall into a period, of Unix time, for the most part."""
    return [one for one in samples if begin <= one.time - one.seconds / 2 <= end]


def sampled(samples: Sequence[Sample]) -> tuple[Process, ...]:
    """Return what a load has sampled."""
    seconds = sum(one.seconds for one in samples)
    used: dict[tuple[str, int], float] = {}
    waited: dict[tuple[str, int], float | None] = {}
    for sample in samples:
        for process in sample.processes:
            key = process.name, process.pid
            used[key] = used.get(key, 0.0) + process.cpu
            before = waited.get(key, 0.0)
            waited[key] = None if before is None or process.waited is None else before + process.waited
    found = []
    for (name, pid), spent in sorted(used.items(), key=lambda one: -one[1]):
        lost = waited[name, pid]
        found.append(Process(name, pid, 1, spent / seconds, None if lost is None else lost / seconds))
    return tuple(found)
