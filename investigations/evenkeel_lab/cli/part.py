"""`evenkeel part`: let a part of a running stack fail, and start it again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click
from rich.table import Table

from evenkeel_lab.cli.output import show
from evenkeel_lab.stack.control import ACTIONS, running_stack, send


@click.command()
@click.argument("action", type=click.Choice(list(ACTIONS)))
@click.argument("part")
@click.option(
    "--stack",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the stack, if several run. `evenkeel up --survive` prints it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
def part(action: str, part: str, folder: Path | None, *, as_json: bool) -> None:
    """Kill, stop, suspend, resume or restart a PART of the stack that `evenkeel up --survive` runs.

    PART is postgres, valkey, mock or litellm. `stop` lets it end in order, `suspend` makes it hang.
    """
    rows = asyncio.run(send(folder or running_stack(), action, part))
    if as_json:
        click.echo(json.dumps({"parts": rows}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("part", "address", "pid"):
        table.add_column(column)
    for row in rows:
        table.add_row(row["name"], row["address"], str(row["pid"]))
    show(table)
