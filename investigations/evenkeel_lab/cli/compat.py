"""`evenkeel compat`: which LiteLLM releases have what the plugin needs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import click
from rich.console import Console

from evenkeel_lab.cli.output import results
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
@click.option("--run", is_flag=True, help="Run the plugin's tests and a proxy with each version as well.")
@click.option("--write", is_flag=True, help="With --run: put what was found into matrix.json and the README.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.pass_context
def compat(context: click.Context, versions: tuple[str, ...], *, run: bool, write: bool, as_json: bool) -> None:
    """Look up in released LiteLLM versions what the plugin needs of them, without running them.

    VERSION is one such as 1.109.1, or `newest`; without any, the newest patch of each release line of the matrix. The
    exit code is 1 when something is missing or fails.
    """
    if write and not run:
        raise click.UsageError("--write is for what was run: add --run.")
    for version in versions:
        if version != NEWEST:
            require_allowed(version)
    steps = shown_on(Console(stderr=True))
    with cache_in_use():
        ok = _run(versions, steps, write=write, as_json=as_json) if run else _look_up(versions, steps, as_json=as_json)
    context.exit(0 if ok else BROKEN)


def _look_up(versions: tuple[str, ...], steps: Steps, *, as_json: bool) -> bool:
    found = asyncio.run(look_up(versions, steps))
    entries = {version: sum(entry.applies_to(version) for entry in contract()) for version in found}
    if as_json:
        click.echo(json.dumps(document(found, entries)))
    else:
        results().print(table(found, entries))
    return not any(found.values())


def _run(versions: tuple[str, ...], steps: Steps, *, write: bool, as_json: bool) -> bool:
    outcomes = asyncio.run(run_all(versions, steps))
    if as_json:
        click.echo(json.dumps(run_document(outcomes)))
    else:
        results().print(run_table(outcomes))
    if write:
        after = joined(committed(), outcomes)
        FILE.write_text(after.model_dump_json(indent=1) + "\n")
        README.write_text(put(README.read_text(), after))
    return all(one.ok for one in outcomes)


async def run_all(versions: tuple[str, ...], steps: Steps) -> list[Outcome]:
    """Run the plugin with each of them."""
    logs = log_folder()
    return [await outcome(version, logs, steps) for version in await named(versions, logs / "uv.log", steps)]


async def look_up(versions: tuple[str, ...], steps: Steps) -> dict[str, list[Break]]:
    """Look the contract up in each of them."""
    log, found = log_folder() / "uv.log", {}
    for version in await named(versions, log, steps):
        with steps.step(f"LiteLLM {version}"):
            found[version] = breaks(Tree(await sources(version, log)), version, contract())
    return found


async def named(versions: tuple[str, ...], log: Path, steps: Steps) -> list[str]:
    """Return the versions that are meant."""
    if not versions:
        with steps.step("asking the registry which releases there are"):
            return await matrix(log)
    if NEWEST not in versions:
        return list(dict.fromkeys(versions))
    with steps.step("asking the registry for the newest release"):
        last = await newest("", log)
    if last is None:
        raise RigFailure("The registry has no LiteLLM.", hint="See whether pip is set up for one that has.")
    return list(dict.fromkeys(last if one == NEWEST else one for one in versions))
