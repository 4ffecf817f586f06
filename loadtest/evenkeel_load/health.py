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
# What is left of a second at the end says something only if it is long enough.
LEAST_SECONDS = 0.2


class Health:
    """The file of one process: a line of JSON for each second."""

    def __init__(self, folder: Path, session: Session, step: int) -> None:
        self._path = folder / f"health-{socket.gethostname()}-{os.getpid()}.jsonl"
        self._session = session
        self._step = step
        self._process = psutil.Process()
        self._last = self._spent()
        # From now on its end has to be told.
        self._write(cpu=None, over=False)

    def note(self) -> None:
        """Write down the second that has passed, if anything was done in it."""
        (cpu, now), (before, then) = self._spent(), self._last
        self._last = cpu, now
        busy = self._session.sent > 0 and now - then >= LEAST_SECONDS
        self._write(cpu=round((cpu - before) / (now - then), 4) if busy else None, over=False)

    def close(self) -> None:
        """Write down what is left, and that this process has not died."""
        self.note()
        self._write(cpu=None, over=True)

    def _write(self, *, cpu: float | None, over: bool) -> None:
        session = self._session
        line = {
            "time": time.time(),
            "step": self._step,
            "cpu": cpu,
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
