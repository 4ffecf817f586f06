"""The mock's command line: `evenkeel mock`, and `python -m evenkeel_mock`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evenkeel_mock.config import read_file
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.server import Options, serve


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8090, show_default=True, help="Where, on loopback.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Worker processes.")
@click.option(
    "--config",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file: latency, accounts, faults and so on.",
)
@click.option("--seed", type=click.IntRange(min=0), help="What all draws are made from.")
@click.option("--ttft-ms", help="Milliseconds to the first token: a number, or 'lognormal(median=200,sigma=0.5)' etc.")
@click.option("--gap-ms", help="Time between two tokens, likewise.")
@click.option("--length", help="Tokens of an answer, likewise.")
@click.option("--echo", is_flag=True, help="Answer with what the user said last.")
@click.option(
    "--journal", type=click.IntRange(min=1), default=65_536, show_default=True, help="Requests kept per worker."
)
def mock(
    port: int,
    workers: int,
    path: Path | None,
    seed: int | None,
    ttft_ms: str | None,
    gap_ms: str | None,
    length: str | None,
    journal: int,
    *,
    echo: bool,
) -> None:
    """Run the mock provider alone, until Ctrl-C."""
    try:
        settings = read_file(path) if path else {}
        serve(Options(port, workers, journal), over(settings, seed, ttft_ms, gap_ms, length, echo=echo))
    except MockConfigError as error:
        raise click.UsageError(str(error)) from error


def over(
    settings: dict[str, Any],
    seed: int | None,
    ttft_ms: str | None,
    gap_ms: str | None,
    length: str | None,
    *,
    echo: bool,
) -> dict[str, Any]:
    """Lay what the command line says over a settings file."""
    given = {"ttft_ms": ttft_ms, "gap_ms": gap_ms, "length": length}
    latency = dict(settings.get("latency") or {}) | {name: value for name, value in given.items() if value is not None}
    result = settings | {"latency": latency}
    if seed is not None:
        result |= {"seed": seed}
    if echo:
        result |= {"answers": dict(settings.get("answers") or {}) | {"echo": True}}
    return result
