"""How the load's own processes fare, each second: a load generator without air left measures itself."""

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
# What of a machine's time is nobody's work; what its guests used is counted as its own already.
NO_WORK = {"idle", "iowait", "steal", "guest", "guest_nice"}


class Spent(NamedTuple):
    """Seconds so far."""

    cpu: float
    """This process' own."""
    seconds: float
    """On the clock."""
    busy: float
    """Of all cores of the machine, whoever used them."""
    stolen: float
    """That the machine below took away."""


class Health:
    """The file of one process: a line of JSON for each second."""

    def __init__(self, folder: Path, session: Session, step: int) -> None:
        self._path = folder / f"health-{socket.gethostname()}-{os.getpid()}.jsonl"
        self._session = session
        self._step = step
        self._process = psutil.Process()
        self._last = self._spent()
        # From now on its end has to be told.
        self._write(Spent(0.0, 0.0, 0.0, 0.0))

    def begin(self) -> None:
        """Count from now on: what comes before the first request says nothing of the load."""
        self._last = self._spent()

    def note(self, *, over: bool = False) -> None:
        """Write down the second that has passed, or what there was of it; at last, that this process has not died."""
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
