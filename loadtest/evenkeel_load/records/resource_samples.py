"""What a watched proxy used, second after second, as it lies in a folder of records: a line of JSON for each."""

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
    """What one process used in a second."""

    pid: int
    name: str
    cpu: float
    """Seconds of CPU, of all its threads."""
    waited: float | None
    """For how long its main thread could have run, but no core was free; None where the system does not tell."""


@dataclass(frozen=True)
class Sample:
    """One second, or what there was of it."""

    time: float
    """Its end, in seconds of Unix time."""
    seconds: float
    processes: tuple[Used, ...]
    memory_mib: float

    @classmethod
    def of(cls, told: dict[str, Any]) -> Self:
        """Read one that was written down."""
        return cls(**told | {"processes": tuple(Used(**one) for one in told["processes"])})


def write_samples(folder: Path, samples: Iterable[Sample]) -> None:
    """Add to what lies in a folder."""
    lines = "".join(json.dumps(asdict(one)) + "\n" for one in samples)
    if lines:
        with (folder / names.SAMPLES).open("a", encoding="utf-8") as file:
            file.write(lines)


def read_samples(folder: Path) -> list[Sample]:
    """Return what a folder holds, as far as it is whole: a load that was killed leaves half a line."""
    path = folder / names.SAMPLES
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found.append(Sample.of(json.loads(line)))
    return found


def waited(samples: Iterable[Sample]) -> float | None:
    """Return for which share of the time the main thread of the busiest process stood in line for a core."""
    seconds = 0.0
    used: dict[int, float] = {}
    lost: dict[int, float | None] = {}
    for sample in samples:
        seconds += sample.seconds
        for process in sample.processes:
            before = lost.get(process.pid, 0.0)
            used[process.pid] = used.get(process.pid, 0.0) + process.cpu
            lost[process.pid] = None if before is None or process.waited is None else before + process.waited
    told = lost[max(used, key=used.__getitem__)] if used else None
    return None if told is None or not seconds else told / seconds
