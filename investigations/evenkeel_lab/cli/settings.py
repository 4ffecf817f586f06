"""`evenkeel settings`: the settings of the plugin, as a list, as Markdown tables, or as a JSON schema for editors."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import click
from rich.padding import Padding
from rich.text import Text

from evenkeel_lab.cli.output import results
from litellm_evenkeel.settings import schema, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

# A cell of a Markdown table may contain an escaped bar.
CELL_BORDER = re.compile(r"(?<!\\)\|")
HEADER_LINES = 2
INDENT = (0, 0, 0, 4)


@click.command()
@click.option("--schema", "as_schema", is_flag=True, help="Print a JSON schema of the proxy's YAML, for editors.")
def settings(*, as_schema: bool) -> None:
    """List the settings of the plugin, with their defaults: as Markdown tables in a pipe or a file.

    They are written into the section `evenkeel:` of the proxy's YAML. With a JSON schema, an editor completes them.
    """
    if as_schema:
        click.echo(json.dumps(schema(), indent=2))
        return
    console = results()
    for title, table in tables().items():
        if console.is_terminal:
            console.print(Text(title, style="bold underline"), *terminal_lines(table), Text(), sep="\n")
        else:
            click.echo(f"## {title}\n\n{table}\n")


def terminal_lines(table: str) -> Iterator[RenderableType]:
    """Return the settings of a Markdown table one below the other, because four columns do not fit 80 characters."""
    for row in table.strip().splitlines()[HEADER_LINES:]:
        cells = [cell.strip().replace("\\|", "|").replace("`", "") for cell in CELL_BORDER.split(row)[1:-1]]
        name, default, expected, meaning = cells
        yield Text.assemble("  ", (name, "bold cyan"), f" (default: {default})")
        yield Padding(Text(meaning), INDENT)
        yield Padding(Text(f"Expected: {expected}", style="dim"), INDENT)
