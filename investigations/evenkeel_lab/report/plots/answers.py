"""What decides in each chapter of a book: effects with their intervals, a row for each arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.plots.forest import ROW, Row, column, ends
from evenkeel_lab.report.plots.style import Look, figure, headline, looks, named, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from evenkeel_lab.report.report_data import Case

REST = 1.2
NAME = "answers"
# Chapters ask for different things: a few that are far out are not to press all others together.
MOST, ROOM = 0.75, 1.5


@styled
def answers(cases: Mapping[str, Case]) -> Figure | None:
    """Draw the primary figures of all chapters, a heading for each; None if there is none to draw."""
    rows: list[Row] = []
    known: dict[str, Look] = {}
    for chapter, case in cases.items():
        own = [
            Row(named(one.candidate, case.asked.baseline), f"{chapter} {one.candidate}", found)
            for one in (*case.candidates, *([case.noise] if case.noise else []))
            for found in one.figures
            if found.primary and found.verdict
        ]
        if own:
            invalid = ", INVALID" if case.judgement.invalid else ""
            rows += [Row(f"{chapter}: {case.asked.primary} against {case.asked.baseline}{invalid}"), *own]
            known |= {f"{chapter} {arm}": look for arm, look in looks(case.asked).items()}
    shown = [row.one for row in rows if row.one]
    if not shown:
        return None
    drawn = figure(len(rows) * ROW + REST)
    column(drawn.subplots(), rows, ends(shown, MOST, ROOM), known, len(rows))
    headline(drawn, "What decides in each chapter, with its interval; grey: what does not matter; hollow: not settled")
    return drawn
