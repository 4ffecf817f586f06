"""Saying what is going on: a spinner on a terminal, a line for each step elsewhere; always on standard error."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console


class Steps(Protocol):
    """Somebody who wants to know what is being done."""

    def step(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Announce a step for as long as it takes."""


class Silent:
    """Nobody wants to know."""

    def step(self, what: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing."""
        return contextlib.nullcontext()


class Lines:
    """A line when a step begins, and one when it has ended: for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Print both."""
        start = time.monotonic()
        self._console.print(f"... {what}", highlight=False)
        yield
        self._console.print(f"ok  {what} ({time.monotonic() - start:.1f} s)", highlight=False)


class Spinners:
    """All steps under way, each with a spinner and its time; a finished one stays as a line above."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show it as long as it takes."""
        start = time.monotonic()
        task = self._progress.add_task(what, total=None)
        try:
            yield
        finally:
            self._progress.remove_task(task)
        self._progress.console.print(
            f"[green]ok[/]  {what} [dim]({time.monotonic() - start:.1f} s)[/]", highlight=False
        )


@contextlib.contextmanager
def shown_on(console: Console) -> Iterator[Steps]:
    """Show steps on a console for as long as the block lasts."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield Spinners(progress)
