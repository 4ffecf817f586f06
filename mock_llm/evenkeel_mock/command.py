"""The mock's command line: `evenkeel mock`, and `python -m evenkeel_mock`."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import orjson

from evenkeel_mock.calibrate import Calibration, calibrate, verdict
from evenkeel_mock.config import parse, read_file
from evenkeel_mock.errors import MockConfigError, MockFailed
from evenkeel_mock.server.server import HOST, Options, serve


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8090, show_default=True, help="Port on the loopback interface."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Worker processes.")
@click.option(
    "--config",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file: latency, accounts, faults and so on.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of all random draws.")
@click.option("--ttft-ms", help="Milliseconds to the first token: a number, or 'lognormal(median=200,sigma=0.5)' etc.")
@click.option("--gap-ms", help="Milliseconds between two tokens, as a number or a distribution.")
@click.option("--length", help="Tokens in an answer, as a number or a distribution.")
@click.option("--echo", is_flag=True, help="Answer with the last user message.")
@click.option(
    "--journal", type=click.IntRange(1, 10_000_000), default=65_536, show_default=True, help="Requests kept per worker."
)
@click.option(
    "--calibrate", "calibrates", is_flag=True, help="Measure the highest load that the mock sustains on this machine."
)
@click.option("--json", "as_json", is_flag=True, help="With --calibrate: one JSON document on standard output.")
def mock(  # noqa: PLR0913  # one for each option
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
    calibrates: bool,
    as_json: bool,
) -> None:
    """Run the mock provider alone, until Ctrl-C."""
    if as_json and not calibrates:
        raise click.UsageError("--json needs --calibrate. Add --calibrate, or leave out --json.")
    options = Options(port, workers, journal)
    try:
        settings = override_settings(read_file(path) if path else {}, seed, ttft_ms, gap_ms, length, echo=echo)
        if calibrates:
            parse(settings, time.time_ns())
            print_calibration(calibrate(options, settings, partial(click.echo, err=True)), as_json=as_json)
        else:
            address = f"http://{HOST}:{port}/v1  answers until Ctrl-C; http://{HOST}:{port}/_mock/state"
            serve(options, settings, partial(click.echo, address, err=True))
    except MockFailed as error:
        raise Failed(str(error)) from error
    except MockConfigError as error:
        raise click.UsageError(str(error)) from error


class Failed(click.ClickException):
    """An error of the machine, not of the user's input: exit code 3."""

    exit_code = 3


def print_calibration(calibration: Calibration, *, as_json: bool) -> None:
    """Print the result of a calibration."""
    if as_json:
        click.echo(orjson.dumps(calibration.document(), option=orjson.OPT_INDENT_2))
        return
    click.echo(verdict(calibration.requests, "small requests"))
    click.echo(verdict(calibration.chunks, "chunks"))


def override_settings(
    settings: dict[str, Any],
    seed: int | None,
    ttft_ms: str | None,
    gap_ms: str | None,
    length: str | None,
    *,
    echo: bool,
) -> dict[str, Any]:
    """Return `settings` with the options of the command line on top."""
    given = {"ttft_ms": ttft_ms, "gap_ms": gap_ms, "length": length}
    result = dict(settings)
    for name, value in (("latency", given), ("answers", {"echo": echo or None})):
        chosen = {key: item for key, item in value.items() if item is not None}
        written = settings.get(name) or {}
        if chosen and not isinstance(written, dict):
            raise MockConfigError(
                f"{name}: expected a mapping, got {written!r}.", hint="docs/mock.md shows an example."
            )
        if chosen:
            result[name] = written | chosen
    if seed is not None:
        result |= {"seed": seed}
    return result
