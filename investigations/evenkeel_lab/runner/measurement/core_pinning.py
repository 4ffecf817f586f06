"""CPU cores: which are usable, pinning of processes to them, and CPU time that was taken away."""

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
"""Whether this system can pin processes to cores; macOS cannot."""
# Cores are not alike: one handles the interrupts, another shares a cache with a virtual machine of others.
TURN_SECONDS = 5.0
# For runs of unknown duration: so short that an odd number of turns hardly matters.
SHORT_TURN_SECONDS = 1.0
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cores() -> tuple[int, ...]:
    """Return the usable cores, which in a container are often not all of the machine's."""
    return tuple(sorted(os.sched_getaffinity(0))) if CAN_PIN else tuple(range(psutil.cpu_count() or 1))


def shares(count: int) -> list[tuple[int, ...]]:
    """Divide the cores into `count` sets of the same size; empty ones if there are too few cores."""
    usable = cores()
    each = len(usable) // count if CAN_PIN else 0
    return [usable[number * each : (number + 1) * each] for number in range(count)]


def pin(pid: int, chosen: Sequence[int]) -> None:
    """Pin a process and its descendants to the cores `chosen`; to all usable cores if that is empty.

    Affinity belongs to a thread. Only threads that it starts later inherit it.
    """
    if CAN_PIN:
        for process in tree(pid):
            for thread in _threads(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(thread, chosen or cores())


def turn(seconds: float | None) -> float:
    """Return the seconds of a turn in a run of `seconds`, so that each process has the same number on each core set."""
    if seconds is None:
        return SHORT_TURN_SECONDS
    return seconds / (2 * max(1, round(seconds / (2 * TURN_SECONDS))))


async def take_turns(pids: Sequence[int], core_sets: Sequence[Sequence[int]], start_ns: int, every: float) -> None:
    """Rotate processes among core sets `every` few seconds, from `start_ns` on, until cancelled."""
    for number in count():
        for position, pid in enumerate(pids):
            pin(pid, core_sets[(position + number) % len(core_sets)])
        # By the clock, because pinning takes time too.
        await asyncio.sleep(max(0.0, start_ns / 1e9 + (number + 1) * every - time.time()))


def _threads(pid: int) -> list[int]:
    try:
        return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def stolen() -> float:
    """Return the seconds of CPU that were taken away so far, by the hypervisor or by a container's quota."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0)) + throttled()


def throttled(root: Path = CGROUPS, own: Path = OWN_CGROUPS) -> float:
    """Return the seconds so far for which a quota throttled our processes."""
    return max(_throttled_by_group(root, own), default=0.0)


def _throttled_by_group(root: Path, own: Path) -> Iterator[float]:
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        hierarchy = root / controllers
        here = hierarchy / path.lstrip("/")
        # The quota may belong to any group that contains ours.
        for group in (here, *here.parents):
            with contextlib.suppress(OSError):
                counts = dict(row.split() for row in (group / "cpu.stat").read_text(encoding="ascii").splitlines())
                yield max(int(counts.get("throttled_usec", 0)) / 1e6, int(counts.get("throttled_time", 0)) / 1e9)
            if group == hierarchy:
                break
