"""Running the mock: the shared file, and the worker processes that serve from it on one port."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from evenkeel_mock.config import StoredSettings
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.server import workers
from evenkeel_mock.server.app import App
from evenkeel_mock.server.connection import Connection
from evenkeel_mock.server.lifeline import LIFELINE, end_with_parent
from evenkeel_mock.server.open_files import allow_many_files
from evenkeel_mock.shared.shared_file import Board, Layout
from evenkeel_mock.timing.empirical_files import EmpiricalFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HOST = "127.0.0.1"
BACKLOG = 4096


@dataclass(frozen=True)
class Options:
    """Options of the server processes."""

    port: int
    workers: int = 1
    journal_records: int = 65_536


def serve(options: Options, settings: Mapping[str, Any], ready: Callable[[], None]) -> None:
    """Serve until a stop signal. Call `ready` after all checks have passed, before the workers start."""
    if LIFELINE in os.environ:
        end_with_parent(int(os.environ[LIFELINE]), signal.SIGTERM)
    layout = Layout(workers=options.workers, records=options.journal_records)
    started = time.time_ns()
    stored = StoredSettings(dict(settings), started, started)
    # Installed first, so that a signal during the start leaves no folder behind.
    with (
        workers.stop_signal() as stop_fd,
        reserved(options.port),
        tempfile.TemporaryDirectory(prefix="evenkeel-mock-") as name,
    ):
        folder = Path(name)
        stored.config(EmpiricalFiles(folder).read)
        board = Board.create(folder / "board", layout)
        board.write_config(lambda _: stored.dump())
        ready()
        workers.keep(options.workers, partial(work, folder / "board", layout, options.port), stop_fd)


def work(path: Path, layout: Layout, port: int) -> None:
    """Serve the port as one worker until SIGTERM."""
    allow_many_files()
    app = App(Board(path, layout))

    async def until_stopped() -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
        server = await loop.create_server(partial(Connection, app.serve), HOST, port, reuse_port=True, backlog=BACKLOG)
        await stopped.wait()
        server.close()

    uvloop.run(until_stopped())


@contextlib.contextmanager
def reserved(port: int) -> Iterator[None]:
    """Keep a port for the workers, which share it, and from everybody else."""
    with contextlib.ExitStack() as stack:
        try:
            if sys.platform == "linux":
                # Two mocks that start at the same moment: a name that only one of them can have, and no file.
                stack.enter_context(socket.socket(socket.AF_UNIX)).bind(f"\0evenkeel-mock-{port}")
            with socket.socket() as probe:
                # Without sharing: it fails if anybody is there, even one who would share.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((HOST, port))
            holder = stack.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            holder.bind((HOST, port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
            raise MockConfigError(f"Port {port} {why}.", hint="Name another one with --port.") from error
        yield
