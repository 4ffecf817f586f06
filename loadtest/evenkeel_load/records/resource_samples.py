"""Samples of a proxy's CPU and memory in a folder of records: a line of JSON for each second."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from evenkeel_load.records import folder as names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Used:
    """CPU use of a process in a second."""

    pid: int
    name: str
    cpu: float
    """CPU seconds of all its threads."""
    waited: float | None
    """Seconds that its main thread waited for a core; `None` if the system does not measure it."""


@dataclass(frozen=True)
class Sample:
    """A sample: a second, or a part of one."""

    time: float
    """The end, in seconds of Unix time."""
    seconds: float
    processes: tuple[Used, ...]
    memory_mib: float

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Return the sample of a document."""
        return cls(**document | {"processes": tuple(Used(**process) for process in document["processes"])})


def write_samples(folder: Path, samples: Iterable[Sample]) -> None:
    """Append samples to the file of a folder."""
    lines = "".join(json.dumps(asdict(sample)) + "\n" for sample in samples)
    if lines:
        with (folder / names.SAMPLES).open("a", encoding="utf-8") as file:
            file.write(lines)


def read_samples(folder: Path) -> list[Sample]:
    """Return the samples of a folder. A killed load leaves an incomplete line, which is skipped."""
    path = folder / names.SAMPLES
    samples = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            samples.append(Sample.of(json.loads(line)))
    return samples


def waited(samples: Iterable[Sample]) -> float | None:
    """Return the share of time that the main thread of the busiest process waited for a core; `None` if unknown."""
    seconds = 0.0
    used: dict[int, float] = {}
    lost: dict[int, float | None] = {}
    for sample in samples:
        seconds += sample.seconds
        for process in sample.processes:
            before = lost.get(process.pid, 0.0)
            used[process.pid] = used.get(process.pid, 0.0) + process.cpu
            lost[process.pid] = None if before is None or process.waited is None else before + process.waited
    of_busiest = lost[max(used, key=used.__getitem__)] if used else None
    return None if of_busiest is None or not seconds else of_busiest / seconds
