"""Progress of a running session: estimates, because verdicts are made at declared looks only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenkeel_lab.formatting import counted
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
    """The estimates so far: a live table on a terminal, else a line for each scheduled pair."""

    def __init__(self, console: Console, investigation: Investigation) -> None:
        self._console = console
        looks, timed = investigation.session.looks, investigation.session.seconds
        self._of = "" if timed else f" of {looks[-1]}"
        declared = f"after each pair, {looks[-1]} at most" if investigation.session.always_valid else ""
        declared = declared or f"after {' or '.join(map(str, looks))} pairs"
        self._when = "when the time is over" if timed else declared
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the table."""
        if self._live is not None and self._live.is_started:
            self._live.stop()

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        """Show the estimates after a scheduled pair."""
        where = f"pair {scheduled.pair}{self._of}, {_minutes(left)} left"
        limited = [f"{run.arm}: {why}" for run in runs for why in run.limited]
        if self._live is not None:
            if not self._live.is_started:
                self._live.start()
            lines = [Text(f"invalid: {why}", style="yellow") for why in limited]
            self._live.update(Group(Text(where, style="bold"), self._so_far(judgement), *lines), refresh=True)
            return
        estimates = [f"{arms} {estimate}" for arms, _, estimate in _estimates(judgement)]
        self._console.print(
            f"{where}: {'; '.join([*estimates, *limited])}", highlight=False, markup=False, soft_wrap=True
        )

    def _so_far(self, judgement: Judgement) -> Table:
        """Return the estimates."""
        shown = Table(box=None, pad_edge=False, show_header=False)
        for row in _estimates(judgement):
            shown.add_row(*row)
        shown.caption, shown.caption_justify = f"judged {self._when}", "left"
        return shown


def _estimates(judgement: Judgement) -> list[tuple[str, str, str]]:
    """Return a row for each comparison: the arms, the number of valid pairs, and the primary metric's estimate."""
    rows = []
    for comparison in judgement.comparisons:
        primary = next((compared for compared in comparison.figures if compared.primary), None)
        if primary:
            estimate = wording.estimate(primary)
        else:
            estimate = "; ".join(comparison.warnings) if comparison.pairs else "no valid pair yet"
        arms = f"{comparison.candidate} against {comparison.baseline}"
        rows.append((arms, counted(comparison.pairs, comparison.unit), estimate))
    return rows


def _minutes(seconds: float) -> str:
    return f"{seconds / MINUTE:.0f} min" if seconds > MINUTE else f"{seconds:.0f} s"
