"""The machine's cores: which there are, who has which and when, and what of them is taken away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from evenkeel_lab.runner.measurement.counters import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CAN_PIN = hasattr(os, "sched_setaffinity")
"""Whether this system lets anybody say on which cores a process runs; macOS does not."""
# Cores are not alike: on one, there are the interrupts; another shares a cache with a stranger's machine.
TURN_SECONDS = 5.0
# Where nobody knows how long a run will be: so short that hardly any run has one turn more than the other.
SHORT_TURN_SECONDS = 1.0
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
    """Let a process, and all that it has started, run on these cores only; on all of ours, if there are none.

    Each thread has cores of its own, which only those that it starts later inherit.
    """
    if CAN_PIN:
        for process in tree(pid):
            for thread in _threads(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(thread, chosen or cores())


def turn(seconds: float | None) -> float:
    """Return for how long each has its cores in a run of so many seconds: the same number of turns on each."""
    if seconds is None:
        return SHORT_TURN_SECONDS
    return seconds / (2 * max(1, round(seconds / (2 * TURN_SECONDS))))


async def take_turns(pids: Sequence[int], places: Sequence[Sequence[int]], start_ns: int, every: float) -> None:
    """Let processes have each other's cores in turns, from a given moment on, for ever."""
    for number in count():
        for position, pid in enumerate(pids):
            pin(pid, places[(position + number) % len(places)])
        # By the clock, because pinning takes time too.
        await asyncio.sleep(max(0.0, start_ns / 1e9 + (number + 1) * every - time.time()))


def _threads(pid: int) -> list[int]:
    try:
        return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []


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
