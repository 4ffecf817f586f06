"""How the load's own processes fare, each second: a load generator without air left measures itself."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_load.session import Session

NS_PER_MS = 1_000_000


class Health:
    """The file of one process: a line of JSON for each second."""

    def __init__(self, folder: Path, session: Session, step: int) -> None:
        self._path = folder / f"health-{socket.gethostname()}-{os.getpid()}.jsonl"
        self._session = session
        self._step = step
        self._process = psutil.Process()
        self._last = self._spent()
        # From now on its end has to be told.
        self._write(0.0, 0.0)

    def begin(self) -> None:
        """Count from now on: what comes before the first request says nothing of the load."""
        self._last = self._spent()

    def note(self, *, over: bool = False) -> None:
        """Write down the second that has passed, or what there was of it; at last, that this process has not died."""
        (cpu, now), (before, then) = self._spent(), self._last
        self._last = cpu, now
        self._write(cpu - before, now - then, over=over)

    def _write(self, cpu: float, seconds: float, *, over: bool = False) -> None:
        session = self._session
        line = {
            "time": time.time(),
            "step": self._step,
            "cpu": round(cpu, 4),
            "seconds": round(seconds, 4),
            "sent": session.sent,
            "in_flight": session.in_flight,
            "most_lag_ms": session.most_lag_ns / NS_PER_MS,
            "over": over,
        }
        session.most_lag_ns = 0
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _spent(self) -> tuple[float, float]:
        times = self._process.cpu_times()
        return times.user + times.system, time.monotonic()
