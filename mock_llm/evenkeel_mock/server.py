"""Running the mock: the shared file, and the worker processes that serve from it on one port."""

from __future__ import annotations

import asyncio
import signal
import socket
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from evenkeel_mock import config, workers
from evenkeel_mock.app import App
from evenkeel_mock.board import Board, Layout
from evenkeel_mock.connection import Connection
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.open_files import allow_many_files

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "127.0.0.1"
BACKLOG = 4096


@dataclass(frozen=True)
class Options:
    """How the mock is run, as opposed to what it answers."""

    port: int
    workers: int = 1
    journal_records: int = 65_536


def serve(options: Options, settings: Mapping[str, Any]) -> None:
    """Serve until told to stop."""
    layout = Layout(workers=options.workers, records=options.journal_records)
    started = time.time_ns()
    config.parse(settings, started)
    with reserved(options.port), tempfile.TemporaryDirectory(prefix="evenkeel-mock-") as folder:
        path = Path(folder) / "board"
        board = Board.create(path, layout)
        board.write_config(config.dump(settings, started))
        workers.keep(options.workers, partial(work, path, layout, options.port))


def work(path: Path, layout: Layout, port: int) -> None:
    """Be a worker: serve the port, beside all others that do."""
    allow_many_files()
    app = App(Board(path, layout))

    async def until_stopped() -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        server = await loop.create_server(partial(Connection, app.serve), HOST, port, reuse_port=True, backlog=BACKLOG)
        await stopped.wait()
        server.close()

    uvloop.run(until_stopped())


def reserved(port: int) -> socket.socket:
    """Return what keeps a port for the workers, which share it, and from everybody else."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        with socket.socket() as probe:
            # Without sharing: it fails if anybody is there, even one who would share.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind((HOST, port))
    except OSError as error:
        holder.close()
        raise MockConfigError(f"Port {port} is in use.", cure="Name another one with --port.") from error
    return holder
