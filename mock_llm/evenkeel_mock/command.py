"""The mock's command line: `evenkeel mock`, and `python -m evenkeel_mock`."""

from __future__ import annotations

from functools import partial

import click
from granian.constants import Interfaces, Loops
from granian.server import Server

from evenkeel_mock.app import App


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8090, show_default=True, help="Where, on loopback.")
@click.option("--first-token-ms", default=0.0, show_default=True, help="Wait before the first byte of an answer.")
@click.option("--gap-ms", default=0.0, show_default=True, help="Wait between the chunks of a stream.")
def mock(port: int, first_token_ms: float, gap_ms: float) -> None:
    """Run the mock provider alone, until Ctrl-C."""
    server = Server(
        "evenkeel_mock",
        address="127.0.0.1",
        port=port,
        interface=Interfaces.RSGI,
        loop=Loops.asyncio,
        log_access=False,
    )
    server.serve(target_loader=partial(load, first_token_ms, gap_ms))  # type: ignore[arg-type]  # it may be any RSGI


def load(first_token_ms: float, gap_ms: float, _target: str) -> App:
    """Build the application. Granian calls this in the worker process."""
    return App(first_token_ms, gap_ms)
