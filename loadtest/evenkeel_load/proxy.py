"""What the loaded proxy itself uses, if its process is on this machine: sampled each second."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import psutil

from evenkeel_load.errors import LoadConfigError

SECOND = 1.0
MIB = 2**20


@dataclass(frozen=True)
class Usage:
    """Of a process and those that it has started, over a run."""

    cpu: float
    """Of a core, in the mean; several processes may use more than one."""
    memory_mib: float
    """At most."""


class Sampler(threading.Thread):
    """Watches a process until it is told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise LoadConfigError(f"There is no process {pid}.", cure="Name the proxy's with --pid.") from error
        self._over = threading.Event()
        self._began = time.monotonic()
        self._first = self._last = self._spent()
        self._most = 0.0

    def run(self) -> None:
        """Sample."""
        while True:
            try:
                self._last = max(self._last, self._spent())
                self._most = max(self._most, sum(process.memory_info().rss for process in self._all()) / MIB)
            except psutil.Error:
                return
            if self._over.wait(SECOND):
                return

    def usage(self) -> Usage:
        """Stop, and return what was found."""
        self._over.set()
        self.join()
        return Usage((self._last - self._first) / (time.monotonic() - self._began), self._most)

    def _all(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]

    def _spent(self) -> float:
        times = [process.cpu_times() for process in self._all()]
        return sum(spent.user + spent.system for spent in times)
