"""Worker processes: as many as wanted, each replaced when it dies, all of them gone when the parent is."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import signal
import sys
import time
from multiprocessing import connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 5.0
# A worker that dies at once must not be forked again at once, for ever.
PAUSE_SECONDS = 0.5

log = logging.getLogger(__name__)


class Stopped(BaseException):  # no error: a signal that says that it is time to go
    """The process was told to end."""


def keep(count: int, work: Callable[[], None]) -> None:
    """Run so many workers until this process is told to stop."""
    # A fork starts in milliseconds, and this process has no threads that it could lose.
    context = multiprocessing.get_context("fork")

    def start() -> BaseProcess:
        worker = context.Process(target=_work, args=(work,))
        worker.start()
        return worker

    with _told_to_stop():
        running: list[BaseProcess] = []
        try:
            running += (start() for _ in range(count))
            while True:
                connection.wait([worker.sentinel for worker in running])
                time.sleep(PAUSE_SECONDS)
                for worker in [worker for worker in running if not worker.is_alive()]:
                    log.warning("A worker ended with %s. Another one takes its place.", worker.exitcode)
                    running.remove(worker)
                    running.append(start())
        except Stopped:
            _end(running)


def _work(work: Callable[[], None]) -> None:
    if sys.platform == "linux":
        # A worker that outlives a killed parent would keep its port.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(Stopped):
        work()


def _end(running: list[BaseProcess]) -> None:
    for worker in running:
        worker.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for worker in running:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive():
            worker.kill()


@contextlib.contextmanager
def _told_to_stop() -> Iterator[None]:
    def stop(_number: int, _frame: object) -> None:
        raise Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
