"""Where results are printed."""

from __future__ import annotations

from rich.console import Console

# Wide enough for every table: what reads a pipe or a file does not need lines to be folded.
PIPE_WIDTH = 160


def results() -> Console:
    """Return the console for results: standard output, as wide as the terminal is."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)
