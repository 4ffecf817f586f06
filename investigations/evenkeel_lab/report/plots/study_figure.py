"""Figure of a study: chosen effects of several chapters, beside those that sources state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenkeel_lab.report.plots.effects import Row, alt_text, draw_effects, key, panels
from evenkeel_lab.report.plots.style import COLOURS, MARKERS, Look, headline, styled
from evenkeel_lab.report.quoted_text import compared_of
from evenkeel_lab.stats import Scale, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from evenkeel_lab.investigation_spec.study import FigureRow, StudyFigure
    from evenkeel_lab.report.report_data import ReportData

LOOK = {"": Look(COLOURS[0], MARKERS[0], "-")}
PUBLISHED_NOTE = " Square: measured. Diamond: as published."


@styled
def study_figure(shown: StudyFigure, by_chapter: Mapping[str, ReportData]) -> Figure | None:
    """Draw the rows that are measured. Return `None` if none is."""
    groups: list[list[Row]] = []
    for group in shown.groups:
        rows = [effect for row in group.rows if (effect := _row(row, by_chapter)) is not None]
        if rows:
            groups.append([Row(group.heading), *rows])
    if not groups:
        return None
    in_panels = panels(groups)
    drawn = draw_effects(in_panels, LOOK)
    has_published = any(row.published is not None for rows in groups for row in rows)
    headline(drawn, f"{shown.title}\n{key(in_panels)}{PUBLISHED_NOTE if has_published else ''}")
    return drawn


def alt(shown: StudyFigure, by_chapter: Mapping[str, ReportData]) -> str:
    """Return the alt text."""
    effects = [
        f"{group.heading}, {row.label}: {wording.effect(compared)}"
        for group in shown.groups
        for row in group.rows
        if (compared := compared_of(row, by_chapter)) and compared.verdict
    ]
    return alt_text(shown.title, effects)


def _row(row: FigureRow, by_chapter: Mapping[str, ReportData]) -> Row | None:
    compared = compared_of(row, by_chapter)
    if compared is None or compared.verdict is None:
        return None
    label = f"{row.label}, INVALID" if by_chapter[row.chapter].is_invalid else row.label
    published = row.published
    if published is not None and compared.margin.scale is Scale.FACTOR:
        published = math.log1p(published)
    return Row(label, "", compared, published)
