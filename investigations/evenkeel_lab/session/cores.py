"""The machine's cores: which there are, who has which, and what of them is taken away."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from evenkeel_lab.session.counters import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CAN_PIN = hasattr(psutil.Process, "cpu_affinity")
"""Whether this system lets anybody say on which cores a process runs; macOS does not."""
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cores() -> tuple[int, ...]:
    """Return the cores that we may use: in a container often not all of the machine's."""
    return tuple(sorted(os.sched_getaffinity(0))) if CAN_PIN else tuple(range(psutil.cpu_count() or 1))


def shares(count: int) -> list[tuple[int, ...]]:
    """Return which cores each of so many has: all have as many, or none if there are too few."""
    there = cores()
    each = len(there) // count if CAN_PIN else 0
    return [there[number * each : (number + 1) * each] for number in range(count)]


def pin(pid: int, chosen: Sequence[int]) -> None:
    """Let a process, and all that it has started, run on these cores only; on all of ours, if there are none."""
    if CAN_PIN:
        for process in tree(pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.cpu_affinity(list(chosen or cores()))


def stolen() -> float:
    """Return for how many seconds so far the CPU was taken away: by the machine below, or by a container's quota."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0)) + throttled()


def throttled(root: Path = CGROUPS, own: Path = OWN_CGROUPS) -> float:
    """Return for how many seconds so far a quota has kept our processes waiting."""
    return max(_waits(root, own), default=0.0)


def _waits(root: Path, own: Path) -> Iterator[float]:
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        hierarchy = root / controllers
        here = hierarchy / place.lstrip("/")
        # The quota may be that of any group around ours.
        for group in (here, *here.parents):
            with contextlib.suppress(OSError):
                told = dict(row.split() for row in (group / "cpu.stat").read_text(encoding="ascii").splitlines())
                yield max(int(told.get("throttled_usec", 0)) / 1e6, int(told.get("throttled_time", 0)) / 1e9)
            if group == hierarchy:
                break
