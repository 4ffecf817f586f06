"""The mock's command line: `evenkeel mock`, and `python -m evenkeel_mock`."""

from __future__ import annotations

import ctypes
import signal
import socket
import sys
from functools import partial

import click
from granian.constants import Interfaces, Loops
from granian.server import Server

from evenkeel_mock.app import App

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1
MILLISECONDS = click.FloatRange(min=0, max=3_600_000)


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8090, show_default=True, help="Where, on loopback.")
@click.option(
    "--first-token-ms",
    type=MILLISECONDS,
    default=0.0,
    show_default=True,
    help="Wait before the first byte of an answer.",
)
@click.option(
    "--gap-ms", type=MILLISECONDS, default=0.0, show_default=True, help="Wait between the chunks of a stream."
)
def mock(port: int, first_token_ms: float, gap_ms: float) -> None:
    """Run the mock provider alone, until Ctrl-C."""
    require_free(port)
    server = Server(
        "evenkeel_mock",
        address=HOST,
        port=port,
        interface=Interfaces.RSGI,
        loop=Loops.asyncio,
        log_access=False,
    )
    server.serve(target_loader=partial(load, first_token_ms, gap_ms))  # type: ignore[arg-type]  # it may be any RSGI


def require_free(port: int) -> None:
    """Raise unless nobody listens there: two mocks could share a port, and nobody would know which one answers."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise click.UsageError(f"Port {port} is in use. Name another one with --port.") from error


def load(first_token_ms: float, gap_ms: float, _target: str) -> App:
    """Build the application. Granian calls this in the worker process."""
    if sys.platform == "linux":
        # A worker that outlives a killed mock would keep its port.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return App(first_token_ms, gap_ms)
