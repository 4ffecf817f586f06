"""Forest plot of a study: the primary metric of each chapter, one row per arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.plots.forest import ROW, Row, column, ends
from evenkeel_lab.report.plots.style import Look, figure, headline, looks, named, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from evenkeel_lab.report.report_data import ReportData

REST = 1.2
NAME = "answers"
# The effects of chapters differ in size: a few large ones must not compress the rest.
MOST, ROOM = 0.75, 1.5


@styled
def answers(by_chapter: Mapping[str, ReportData]) -> Figure | None:
    """Draw the primary metric of all chapters, one heading each. Return `None` if no chapter has a verdict."""
    rows: list[Row] = []
    arm_looks: dict[str, Look] = {}
    for chapter, data in by_chapter.items():
        own = [
            Row(named(comparison.candidate, data.investigation.baseline), f"{chapter} {comparison.candidate}", compared)
            for comparison in (*data.candidates, *([data.noise] if data.noise else []))
            for compared in comparison.figures
            if compared.primary and compared.verdict
        ]
        if own:
            invalid = ", INVALID" if data.judgement.invalid else ""
            rows += [
                Row(f"{chapter}: {data.investigation.primary} against {data.investigation.baseline}{invalid}"),
                *own,
            ]
            arm_looks |= {f"{chapter} {arm}": look for arm, look in looks(data.investigation).items()}
    shown = [row.compared for row in rows if row.compared]
    if not shown:
        return None
    drawn = figure(len(rows) * ROW + REST)
    column(drawn.subplots(), rows, ends(shown, MOST, ROOM), arm_looks, len(rows))
    headline(drawn, "What decides in each chapter, with its interval; grey: what does not matter; hollow: not settled")
    return drawn
