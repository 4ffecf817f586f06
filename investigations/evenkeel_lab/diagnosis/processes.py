"""CPU usage of a proxy's processes: from counters around an investigation's run, or from samples during a load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_load.records.resource_samples import Sample

PYTHON = "python"


@dataclass(frozen=True)
class Process:
    """Mean CPU usage of one process, or of all processes of one program."""

    name: str
    pid: int | None
    """`None` if a program's processes were counted together."""
    count: int
    """Number of processes that `used` is the sum of."""
    used: float
    """Cores."""
    waited: float | None
    """Share of the time in which the main thread waited for a core; `None` if unknown."""

    @property
    def each(self) -> float:
        """Cores that one process used."""
        return self.used / self.count

    @property
    def demand(self) -> float:
        """Cores that one process used or waited for. In both times it served no other request."""
        return self.each + (self.waited or 0.0)

    @property
    def title(self) -> str:
        """Name in sentences."""
        if self.pid is not None:
            return f"{self.name} (process {self.pid})"
        return f"{self.name} ({self.count} processes)" if self.count > 1 else self.name


def processes_of_run(cpu: Mapping[str, float], seconds: float, workers: int | None) -> tuple[Process, ...]:
    """Return the processes by the counters of an investigation's run. `workers` is `None` if unknown."""
    # The workers are Python processes, below one that only watches them. Every other program runs once.
    return tuple(
        Process(name, None, (workers or 1) if name.startswith(PYTHON) else 1, spent / seconds, None)
        for name, spent in sorted(cpu.items(), key=lambda program: -program[1])
        if seconds > 0
    )


def between(samples: Sequence[Sample], begin: float, end: float) -> list[Sample]:
    """Return the samples that lie mostly between `begin` and `end`, in Unix time."""
    return [sample for sample in samples if begin <= sample.time - sample.seconds / 2 <= end]


def processes_of_samples(samples: Sequence[Sample]) -> tuple[Process, ...]:
    """Return the processes by the samples of a load."""
    seconds = sum(sample.seconds for sample in samples)
    used: dict[tuple[str, int], float] = {}
    waited: dict[tuple[str, int], float | None] = {}
    for sample in samples:
        for process in sample.processes:
            key = process.name, process.pid
            used[key] = used.get(key, 0.0) + process.cpu
            before = waited.get(key, 0.0)
            waited[key] = None if before is None or process.waited is None else before + process.waited
    processes = []
    for (name, pid), spent in sorted(used.items(), key=lambda program: -program[1]):
        lost = waited[name, pid]
        processes.append(Process(name, pid, 1, spent / seconds, None if lost is None else lost / seconds))
    return tuple(processes)
