"""Where results are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

if TYPE_CHECKING:
    from rich.console import RenderableType

# Wide enough for every table: what reads a pipe or a file does not need lines to be folded.
PIPE_WIDTH = 160


def results() -> Console:
    """Return the console for results: standard output, as wide as the terminal is."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def show(content: RenderableType) -> None:
    """Print a result. In a pipe or a file, its lines end without the spaces with which rich pads tables."""
    console = results()
    if console.is_terminal:
        console.print(content)
        return
    with console.capture() as capture:
        console.print(content)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))
