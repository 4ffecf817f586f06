"""What the loaded proxy itself uses, if its process is on this machine: sampled each second."""

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
            raise LoadConfigError(f"There is no process {pid}.", hint="Name the proxy's with --pid.") from error
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

    def write(self, folder: Path) -> None:
        """Write down what was sampled since the last time: into a folder that is the load's own by then."""
        write_samples(folder, [self._samples.popleft() for _ in range(len(self._samples))])

    def _sample(self) -> None:
        memory = 0.0
        used = []
        if self._is_over():
            self._ended = True
            return
        for process in self._all():
            # One that ends meanwhile has spent what was seen last.
            with contextlib.suppress(psutil.Error):
                times, name = process.cpu_times(), process.name()
                spent, before = times.user + times.system, self._spent.get(process)
                waited, waited_before = _waited(process.pid), self._waited.get(process)
                self._spent[process], self._waited[process] = spent, waited
                memory += process.memory_info().rss / MIB
                # One that has only begun to be watched has spent what nobody knows when.
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
    """Return for how many seconds so far a process' main thread stood in line for a core; Linux alone tells."""
    try:
        return round(int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / NS, 4)
    except (OSError, ValueError, IndexError):
        return None
