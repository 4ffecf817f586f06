"""What a session shows while it runs: estimates, not verdicts, which are for the looks that were declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.schedule import ScheduledPair

MINUTE = 60


class View:
    """What is known so far: a table that is rewritten on a terminal, a line for each meeting elsewhere."""

    def __init__(self, console: Console, investigation: Investigation) -> None:
        self._console = console
        looks, timed = investigation.session.looks, investigation.session.seconds
        self._of = "" if timed else f" of {looks[-1]}"
        self._when = "when the time is over" if timed else f"after {' or '.join(map(str, looks))} pairs"
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the table away."""
        if self._live is not None and self._live.is_started:
            self._live.stop()

    def meeting(self, meeting: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        """Show what a meeting has changed."""
        where = f"pair {meeting.pair}{self._of}, {_minutes(left)} left"
        limited = [f"{run.arm}: {why}" for run in runs for why in run.limited]
        if self._live is not None:
            if not self._live.is_started:
                self._live.start()
            lines = [Text(f"invalid: {why}", style="yellow") for why in limited]
            self._live.update(Group(Text(where, style="bold"), self._so_far(judgement), *lines), refresh=True)
            return
        told = [f"{one} {estimate}" for one, _, estimate in _estimates(judgement)]
        self._console.print(f"{where}: {'; '.join([*told, *limited])}", highlight=False, markup=False, soft_wrap=True)

    def _so_far(self, judgement: Judgement) -> Table:
        """Return the estimates."""
        shown = Table(box=None, pad_edge=False, show_header=False)
        for row in _estimates(judgement):
            shown.add_row(*row)
        shown.caption, shown.caption_justify = f"judged {self._when}", "left"
        return shown


def _estimates(judgement: Judgement) -> list[tuple[str, str, str]]:
    """Say of each two arms how many valid pairs they have, and what their primary figure is about to say."""
    found = []
    for one in judgement.comparisons:
        primary = next((figure for figure in one.figures if figure.primary), None)
        estimate = (
            wording.estimate(primary) if primary else "; ".join(one.warnings) if one.pairs else "no valid pair yet"
        )
        found.append((f"{one.candidate} against {one.baseline}", f"{one.pairs} pairs", estimate))
    return found


def _minutes(seconds: float) -> str:
    return f"{seconds / MINUTE:.0f} min" if seconds > MINUTE else f"{seconds:.0f} s"
