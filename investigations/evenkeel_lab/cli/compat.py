"""`evenkeel compat`: check LiteLLM releases for what the plugin needs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import click
from rich.console import Console

from evenkeel_lab.cli.output import show
from evenkeel_lab.compat.contract import contract
from evenkeel_lab.compat.environments import ROOT
from evenkeel_lab.compat.lookup import breaks
from evenkeel_lab.compat.outcome import FILE, committed, joined, put
from evenkeel_lab.compat.releases import NEWEST, matrix, newest, sources
from evenkeel_lab.compat.report import document, run_document, run_table, table
from evenkeel_lab.compat.running import outcome
from evenkeel_lab.compat.source import Tree
from evenkeel_lab.errors import RigFailure
from evenkeel_lab.progress import shown_on
from evenkeel_lab.stack.folders import cache_in_use, log_folder
from evenkeel_lab.stack.litellm.environment import require_allowed

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.compat.lookup import Break
    from evenkeel_lab.compat.outcome import Outcome
    from evenkeel_lab.progress import Steps

BROKEN = 1
README = ROOT / "README.md"


@click.command()
@click.argument("versions", metavar="[VERSION]...", nargs=-1)
@click.option("--run", is_flag=True, help="Also run the plugin's tests and a proxy with each version.")
@click.option("--write", is_flag=True, help="With --run: write the results to matrix.json and the README.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.pass_context
def compat(context: click.Context, versions: tuple[str, ...], *, run: bool, write: bool, as_json: bool) -> None:
    """Check that LiteLLM releases have what the plugin needs, without running them.

    VERSION is a version such as 1.109.1, or `newest`; by default, the newest patch of each release line of the matrix.
    The exit code is 1 if something is missing or fails.
    """
    if write and not run:
        raise click.UsageError("--write needs --run.")
    for version in versions:
        if version != NEWEST:
            require_allowed(version)
    steps = shown_on(Console(stderr=True))
    with cache_in_use():
        ok = _run(versions, steps, write=write, as_json=as_json) if run else _look_up(versions, steps, as_json=as_json)
    context.exit(0 if ok else BROKEN)


def _look_up(versions: tuple[str, ...], steps: Steps, *, as_json: bool) -> bool:
    breaks_of = asyncio.run(look_up(versions, steps))
    entries = {version: sum(entry.applies_to(version) for entry in contract()) for version in breaks_of}
    if as_json:
        click.echo(json.dumps(document(breaks_of, entries)))
    else:
        show(table(breaks_of, entries))
    return not any(breaks_of.values())


def _run(versions: tuple[str, ...], steps: Steps, *, write: bool, as_json: bool) -> bool:
    outcomes = asyncio.run(run_all(versions, steps))
    if as_json:
        click.echo(json.dumps(run_document(outcomes)))
    else:
        show(run_table(outcomes))
    if write:
        after = joined(committed(), outcomes)
        FILE.write_text(after.model_dump_json(indent=1) + "\n")
        README.write_text(put(README.read_text(), after))
    return all(outcome.ok for outcome in outcomes)


async def run_all(versions: tuple[str, ...], steps: Steps) -> list[Outcome]:
    """Run the plugin with each version."""
    logs = log_folder()
    return [await outcome(version, logs, steps) for version in await named(versions, logs / "uv.log", steps)]


async def look_up(versions: tuple[str, ...], steps: Steps) -> dict[str, list[Break]]:
    """Look up the contract in each version."""
    log = log_folder() / "uv.log"
    breaks_of: dict[str, list[Break]] = {}
    for version in await named(versions, log, steps):
        with steps.step(f"LiteLLM {version}"):
            breaks_of[version] = breaks(Tree(await sources(version, log)), version, contract())
    return breaks_of


async def named(versions: tuple[str, ...], log: Path, steps: Steps) -> list[str]:
    """Return the versions of the arguments: `newest` is resolved, and no argument means the matrix."""
    if not versions:
        with steps.step("reading the releases from the registry"):
            return await matrix(log)
    if NEWEST not in versions:
        return list(dict.fromkeys(versions))
    with steps.step("reading the newest release from the registry"):
        last = await newest("", log)
    if last is None:
        raise RigFailure("The registry has no LiteLLM.", hint="Check the index that pip is configured for.")
    return list(dict.fromkeys(last if version == NEWEST else version for version in versions))
