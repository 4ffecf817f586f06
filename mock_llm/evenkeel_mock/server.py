"""Running the mock: the shared file, and Granian's worker processes on it."""

from __future__ import annotations

import ctypes
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from granian.constants import HTTPModes, Interfaces, Loops, RuntimeModes
from granian.server import Server

from evenkeel_mock import config
from evenkeel_mock.app import App
from evenkeel_mock.board import Board, Layout
from evenkeel_mock.errors import MockConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1
BACKLOG = 4096


@dataclass(frozen=True)
class Options:
    """How the mock is run, as opposed to what it answers."""

    port: int
    workers: int = 1
    journal_records: int = 65_536


def serve(options: Options, settings: Mapping[str, Any]) -> None:
    """Serve until told to stop."""
    require_free(options.port)
    layout = Layout(workers=options.workers, records=options.journal_records)
    started = time.time_ns()
    config.parse(settings, started)
    with tempfile.TemporaryDirectory(prefix="evenkeel-mock-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "board"
        board = Board.create(path, layout)
        board.write_config(config.dump(settings, started))
        server = Server(
            "evenkeel_mock",
            address=HOST,
            port=options.port,
            workers=options.workers,
            interface=Interfaces.RSGI,
            http=HTTPModes.http1,
            runtime_mode=RuntimeModes.st,
            # Faster, where it is installed.
            loop=Loops.uvloop if find_spec("uvloop") else Loops.asyncio,
            backlog=BACKLOG,
            backpressure=BACKLOG * 4,
            log_access=False,
            respawn_failed_workers=True,
        )
        server.serve(target_loader=partial(load, path, layout))  # type: ignore[arg-type]  # it may be any RSGI


def load(path: Path, layout: Layout, _target: str) -> App:
    """Build the application. Granian calls this in each worker process."""
    if sys.platform == "linux":
        # A worker that outlives a killed mock would keep its port.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return App(Board(path, layout))


def require_free(port: int) -> None:
    """Raise unless a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise MockConfigError(f"Port {port} is in use.", cure="Name another one with --port.") from error
