"""Progress of steps on standard error: spinners on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console


class Steps(Protocol):
    """Display of steps."""

    def step(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Show the step `what` during the block."""


class Silent:
    """Display that shows nothing."""

    def step(self, what: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing."""
        return contextlib.nullcontext()


class Lines:
    """Display for logs and pipes: a line when a step begins, and a line when it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Print a line before and after the block."""
        start = time.monotonic()
        self._console.print(f"... {what}", highlight=False)
        yield
        self._console.print(f"ok  {what} ({time.monotonic() - start:.1f} s)", highlight=False)


class Spinners:
    """Display for terminals: a spinner and the time for each running step, and a line for each finished step.

    Spinners exist only while a step runs, so that they do not mix with output between steps.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._running_steps = 0

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show a spinner during the block, and a line after it if it succeeds."""
        start = time.monotonic()
        progress = self._begin()
        task = progress.add_task(what, total=None)
        succeeded = False
        try:
            yield
            succeeded = True
        finally:
            progress.remove_task(task)
            self._end(progress)
            if succeeded:
                self._console.print(f"[green]ok[/]  {what} [dim]({time.monotonic() - start:.1f} s)[/]", highlight=False)

    def _begin(self) -> Progress:
        self._running_steps += 1
        if self._progress is None:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.start()
        return self._progress

    def _end(self, progress: Progress) -> None:
        self._running_steps -= 1
        if self._running_steps == 0:
            progress.stop()
            self._progress = None


def shown_on(console: Console) -> Steps:
    """Return the display of steps that fits `console`."""
    return Spinners(console) if console.is_terminal else Lines(console)
