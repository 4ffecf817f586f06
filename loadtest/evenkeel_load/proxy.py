"""CPU and memory of the loaded proxy, sampled once a second, if its process is on this machine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from evenkeel_load.errors import LoadConfigError
from evenkeel_load.records.resource_samples import Sample, Used, write_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = 1.0
MIB = 2**20
NS = 1e9


@dataclass(frozen=True)
class Usage:
    """CPU and memory of a process and its descendants during a run."""

    cpu: float
    """Mean CPU use in cores."""
    memory_mib: float
    """Maximum of the resident memory."""
    ended: bool
    """Whether the process ended during the run. Then the values are those until its last second."""


class Sampler(threading.Thread):
    """Thread that samples a process until `usage` is called."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise LoadConfigError(f"There is no process {pid}.", hint="Name the proxy's process with --pid.") from error
        self._over = threading.Event()
        self._ended = False
        self._most = 0.0
        self._spent: dict[psutil.Process, float] = {}
        self._waited: dict[psutil.Process, float | None] = {}
        self._samples: deque[Sample] = deque()
        self._last = time.monotonic()
        self._sample()
        self._samples.clear()
        self._before = sum(self._spent.values())
        self._began = self._last = time.monotonic()

    def run(self) -> None:
        """Sample once a second."""
        while not self._over.wait(SECOND):
            self._sample()

    def usage(self) -> Usage:
        """Stop sampling, and return the usage of the run."""
        self._over.set()
        self.join()
        self._sample()
        seconds = self._last - self._began
        cpu = (sum(self._spent.values()) - self._before) / seconds if seconds else 0.0
        return Usage(cpu, self._most, self._ended)

    def write(self, folder: Path) -> None:
        """Write the samples since the last call to the load's folder."""
        write_samples(folder, [self._samples.popleft() for _ in range(len(self._samples))])

    def _sample(self) -> None:
        memory = 0.0
        used = []
        if self._is_over():
            self._ended = True
            return
        for process in self._all():
            # A process that ends keeps its last values.
            with contextlib.suppress(psutil.Error):
                times, name = process.cpu_times(), process.name()
                spent, before = times.user + times.system, self._spent.get(process)
                waited, waited_before = _waited(process.pid), self._waited.get(process)
                self._spent[process], self._waited[process] = spent, waited
                memory += process.memory_info().rss / MIB
                # The first sample of a process has no interval.
                if before is not None:
                    lost = None if waited is None or waited_before is None else round(waited - waited_before, 4)
                    used.append(Used(process.pid, name, round(spent - before, 4), lost))
        self._most = max(self._most, memory)
        self._note(tuple(used), memory)

    def _note(self, used: tuple[Used, ...], memory: float) -> None:
        now = time.monotonic()
        self._samples.append(Sample(time.time(), round(now - self._last, 4), used, round(memory, 1)))
        self._last = now

    def _is_over(self) -> bool:
        try:
            return not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def _all(self) -> Iterator[psutil.Process]:
        yield self._process
        with contextlib.suppress(psutil.Error):
            yield from self._process.children(recursive=True)


def _waited(pid: int) -> float | None:
    """Return the seconds so far that a process's main thread waited for a core; `None` if the system is not Linux."""
    try:
        return round(int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / NS, 4)
    except (OSError, ValueError, IndexError):
        return None
