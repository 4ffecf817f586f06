"""CPU use and lag of the load's own processes, once a second: a saturated load generator measures itself."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import TYPE_CHECKING, NamedTuple

import psutil

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_load.locust_side.session import Session

NS_PER_MS = 1_000_000
# Times that are not work. Those of guests are included in others already.
NO_WORK = {"idle", "iowait", "steal", "guest", "guest_nice"}


class Spent(NamedTuple):
    """CPU seconds so far."""

    cpu: float
    """Of this process."""
    seconds: float
    """Wall-clock time."""
    busy: float
    """Of all cores of the machine, by all programs."""
    stolen: float
    """Taken away by the hypervisor."""


class Health:
    """Health file of a process: a line of JSON for each second."""

    def __init__(self, folder: Path, session: Session, step: int) -> None:
        self._path = folder / f"health-{socket.gethostname()}-{os.getpid()}.jsonl"
        self._session = session
        self._step = step
        self._process = psutil.Process()
        self._last = self._spent()
        # With this line, the process is expected to report its end.
        self._write(Spent(0.0, 0.0, 0.0, 0.0))

    def begin(self) -> None:
        """Start counting. The time before the first request is not part of the load."""
        self._last = self._spent()

    def note(self, *, over: bool = False) -> None:
        """Write a line for the time since the last one; `over` marks the regular end of this process."""
        now, before = self._spent(), self._last
        self._last = now
        self._write(Spent(*(after - then for after, then in zip(now, before, strict=True))), over=over)

    def _write(self, spent: Spent, *, over: bool = False) -> None:
        session = self._session
        line = {
            "time": time.time(),
            "step": self._step,
            "cpu": round(spent.cpu, 4),
            "seconds": round(spent.seconds, 4),
            "busy": round(spent.busy, 4),
            "stolen": round(spent.stolen, 4),
            "cores": psutil.cpu_count() or 1,
            "sent": session.sent,
            "in_flight": session.in_flight,
            "most_lag_ms": session.most_lag_ns / NS_PER_MS,
            "over": over,
        }
        session.most_lag_ns = 0
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _spent(self) -> Spent:
        times, all_of_it = self._process.cpu_times(), psutil.cpu_times()._asdict()
        busy = sum(seconds for name, seconds in all_of_it.items() if name not in NO_WORK)
        return Spent(times.user + times.system, time.monotonic(), busy, all_of_it.get("steal", 0.0))
