"""`evenkeel doctor`: what is wrong here, and what cures it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click
from rich.console import Console

from evenkeel_lab.cli.output import show
from evenkeel_lab.doctor import as_json, as_table, passed, read, run_checks


@click.command()
@click.option("--config", metavar="PATH", type=click.Path(path_type=Path), help="A proxy's YAML to check as well.")
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many workers that proxy is started with; NUM_WORKERS unless given.",
)
@click.option("--json", "want_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def doctor(context: click.Context, config: Path | None, workers: int | None, *, want_json: bool) -> None:
    """Check this machine and, with --config, how a proxy is wired.

    Each finding comes with its hint. The exit code is 1 when one of them is an error.
    """
    proxy = read(config) if config else None
    with Console(stderr=True).status("checking"):
        findings = asyncio.run(run_checks(proxy, os.environ, workers=workers))
    if want_json:
        click.echo(as_json(findings))
    else:
        show(as_table(findings))
    context.exit(0 if passed(findings) else 1)
