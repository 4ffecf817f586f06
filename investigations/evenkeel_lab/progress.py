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
    """All steps under way, each with a spinner and its time; a finished one stays as a line above.

    The display exists only while a step does: what is printed between steps finds the terminal untouched.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: Progress | None = None
        self._under_way = 0

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show it as long as it takes."""
        start = time.monotonic()
        progress = self._begin()
        task = progress.add_task(what, total=None)
        well = False
        try:
            yield
            well = True
        finally:
            progress.remove_task(task)
            self._end(progress)
            if well:
                self._console.print(f"[green]ok[/]  {what} [dim]({time.monotonic() - start:.1f} s)[/]", highlight=False)

    def _begin(self) -> Progress:
        self._under_way += 1
        if self._shown is None:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._shown = Progress(*columns, console=self._console, transient=True)
            self._shown.start()
        return self._shown

    def _end(self, progress: Progress) -> None:
        self._under_way -= 1
        if self._under_way == 0:
            progress.stop()
            self._shown = None


def shown_on(console: Console) -> Steps:
    """Return what shows steps on a console as well as it can."""
    return Spinners(console) if console.is_terminal else Lines(console)
