"""What the loaded proxy itself uses, if its process is on this machine: sampled each second."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = 1.0
MIB = 2**20


@dataclass(frozen=True)
class Usage:
    """Of a process and those that it has started, over a run."""

    cpu: float
    """Of a core, in the mean; several processes may use more than one."""
    memory_mib: float
    """At most."""
    ended: bool
    """Whether the process has ended meanwhile: then the rest is as of its last second."""


class Sampler(threading.Thread):
    """Watches a process until it is told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise LoadConfigError(f"There is no process {pid}.", cure="Name the proxy's with --pid.") from error
        self._over = threading.Event()
        self._ended = False
        self._most = 0.0
        self._spent: dict[psutil.Process, float] = {}
        self._sample()
        self._before = sum(self._spent.values())
        self._began = self._last = time.monotonic()

    def run(self) -> None:
        """Sample."""
        while not self._over.wait(SECOND):
            self._sample()

    def usage(self) -> Usage:
        """Stop, and return what was found."""
        self._over.set()
        self.join()
        self._sample()
        seconds = self._last - self._began
        cpu = (sum(self._spent.values()) - self._before) / seconds if seconds else 0.0
        return Usage(cpu, self._most, self._ended)

    def _sample(self) -> None:
        memory = 0.0
        if self._is_over():
            self._ended = True
            return
        for process in self._all():
            # One that ends meanwhile has spent what was seen last.
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                self._spent[process] = times.user + times.system
                memory += process.memory_info().rss / MIB
        self._most = max(self._most, memory)
        self._last = time.monotonic()

    def _is_over(self) -> bool:
        try:
            return not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def _all(self) -> Iterator[psutil.Process]:
        yield self._process
        with contextlib.suppress(psutil.Error):
            yield from self._process.children(recursive=True)
