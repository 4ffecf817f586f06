"""Worker processes: restarted when they end, and stopped with the parent."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import time
from multiprocessing import connection
from typing import TYPE_CHECKING

from evenkeel_mock.server.lifeline import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_SECONDS = 5.0
# A worker that dies at once must not be forked again at once, for ever.
PAUSE_SECONDS = 0.5

log = logging.getLogger(__name__)


def keep(count: int, work: Callable[[], None], stop_fd: int) -> None:
    """Run `count` workers until `stop_fd` is readable."""
    # A fork starts in milliseconds, and this process has no threads that it could lose.
    context = multiprocessing.get_context("fork")
    parent = os.getpid()

    def start() -> BaseProcess:
        worker = context.Process(target=_work, args=(work, parent))
        # What the worker does about a signal has to be settled before one can come.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            worker.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        return worker

    running: list[BaseProcess] = []
    try:
        while not connection.wait([stop_fd], 0):
            ended = [worker for worker in running if not worker.is_alive()]
            for worker in ended:
                log.warning("A worker ended with %s. Another one takes its place.", worker.exitcode)
                running.remove(worker)
            if ended:
                time.sleep(PAUSE_SECONDS)
            while len(running) < count:
                running.append(start())
            connection.wait([stop_fd, *(worker.sentinel for worker in running)])
    finally:
        _end(running)


def _work(work: Callable[[], None], parent: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Ctrl-C reaches all of them: the parent says what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    end_with_parent(parent)
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
def stop_signal() -> Iterator[int]:
    """Yield a file descriptor that becomes readable on SIGINT or SIGTERM, in place of their default effect."""
    read, write = os.pipe()
    before = {number: signal.signal(number, lambda *_: os.write(write, b"x") and None) for number in STOP_SIGNALS}
    try:
        yield read
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read)
        os.close(write)
