"""Plot of a study: the primary metric of each chapter, one row for each arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.plots.effects import Row, draw_effects, key, panels
from evenkeel_lab.report.plots.style import Look, headline, looks, named, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from evenkeel_lab.report.report_data import ReportData


@styled
def answers(by_chapter: Mapping[str, ReportData]) -> Figure | None:
    """Draw the primary metric of all chapters, a heading each. Return `None` if no chapter has a verdict."""
    groups: list[list[Row]] = []
    arm_looks: dict[str, Look] = {}
    for chapter, data in by_chapter.items():
        own = [
            Row(named(comparison.candidate, data.investigation.baseline), f"{chapter} {comparison.candidate}", compared)
            for comparison in (*data.candidates, *([data.noise] if data.noise else []))
            for compared in comparison.figures
            if compared.primary and compared.verdict
        ]
        if own:
            invalid = ", INVALID" if data.is_invalid else ""
            decides = data.investigation.described[data.investigation.primary].title
            heading = f"{chapter}: {decides} against {data.investigation.baseline}{invalid}"
            groups.append([Row(heading), *own])
            arm_looks |= {f"{chapter} {arm}": look for arm, look in looks(data.investigation).items()}
    if not groups:
        return None
    in_panels = panels(groups)
    drawn = draw_effects(in_panels, arm_looks)
    headline(drawn, f"What decides in each chapter, with its interval\n{key(in_panels)}")
    return drawn
