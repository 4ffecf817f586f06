"""Effects with their intervals and margins: a row for each figure of each two arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.report.plots.style import FAINT, INK, figure, headline, looks, named, quieten, short, styled
from evenkeel_lab.stats import alpha_per_look, wording
from evenkeel_lab.stats.metrics import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.report.plots.style import Look
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.stats.compare import Compared, Comparison

ROW, REST = 0.21, 1.2
ONE_COLUMN = 26
# How far the axis goes, in widths of the largest margin, unless the primary figure needs more.
FAR = 5


@dataclass(frozen=True)
class Row:
    """One line of the plot; a heading if it has no figure."""

    label: str
    arm: str = ""
    one: Compared | None = None

    @property
    def said(self) -> str:
        """What stands to the right."""
        if self.one is None:
            return ""
        return wording.effect(self.one) or wording.NO_VERDICT


@styled
def forest(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw all effects with their intervals, beside the margins; two columns if there are many."""
    groups = _groups(summary, judgement)
    everything = [row.one for group in groups for row in group if row.one and row.one.verdict]
    if not everything:
        return None
    count = sum(map(len, groups))
    columns = [groups] if count <= ONE_COLUMN or len(groups) == 1 else _halves(groups)
    tallest = max(sum(map(len, column)) for column in columns)
    drawn = figure(tallest * ROW + REST, 9 if len(columns) == 1 else 12)
    all_axes = drawn.subplots(1, len(columns), squeeze=False)[0]
    far = ends(everything)
    known = looks(summary.investigation)
    for axes, one in zip(all_axes, columns, strict=True):
        column(axes, [row for group in one for row in group], far, known, tallest)
    sure = (1 - alpha_per_look(summary.investigation.session.looks)) * 100
    baseline = short(summary.investigation.baseline)
    headline(
        drawn,
        f"Effects against {baseline}, {sure:.3g} % intervals; grey: what does not matter; hollow: not settled",
        judgement,
    )
    return drawn


def alt(summary: Summary, judgement: Judgement) -> str:
    """Say it in words."""
    baseline = summary.investigation.baseline
    told = []
    for one in judgement.comparisons:
        decisive = [found for found in one.figures if found.primary] or one.figures[:1]
        if one.baseline == baseline and decisive:
            (found,) = decisive
            effect = wording.effect(found) or wording.NO_VERDICT
            told.append(f"{one.candidate} {found.metric.name} {effect}, margin {wording.margin(found)}")
    return f"Forest plot of effects against {baseline} with intervals: {'; '.join(told)}"


def _groups(summary: Summary, judgement: Judgement) -> list[list[Row]]:
    """Return a heading and the rows of each figure, the primary one first; two that are the same come last."""
    asked = summary.investigation
    names = [asked.primary, *(name for name in ordered(list(asked.figures)) if name != asked.primary)]
    found = []
    for name in names:
        rows = [
            Row(_label(asked.baseline, one), one.candidate, compared)
            for one in judgement.comparisons
            for compared in one.figures
            if compared.metric.name == name
        ]
        if rows:
            rows.sort(key=lambda row: row.arm == AGAIN)
            found.append([Row(f"{name} (decides)" if name == asked.primary else name), *rows])
    return found


def _label(baseline: str, one: Comparison) -> str:
    if one.baseline == baseline:
        return named(one.candidate, baseline)
    return f"{short(one.candidate, 18)} vs {short(one.baseline, 14)}"


def _halves(groups: Sequence[list[Row]]) -> list[Sequence[list[Row]]]:
    """Return groups in two columns of about the same height."""
    total = sum(map(len, groups))
    at = min(range(1, len(groups)), key=lambda cut: abs(2 * sum(map(len, groups[:cut])) - total))
    return [groups[:at], groups[at:]]


def _percent(one: Compared, difference: float) -> float:
    return one.margin.effect(difference) * 100


def ends(shown: Sequence[Compared], most: float = 1.0, room: float = 1.1) -> tuple[float, float]:
    """Return how far the axis goes: what lies far beyond is told in numbers, and drawn as an arrow.

    There is room for so large a share of what decides.
    """
    lows, highs, margins, main = [], [], [], [0.0]
    for one in shown:
        assert one.verdict is not None
        low, high = _percent(one, one.verdict.low), _percent(one, one.verdict.high)
        lows.append(low)
        highs.append(high)
        margins.append(_percent(one, one.verdict.margin))
        if one.primary:
            main += [abs(low), abs(high)]
    least = 1.3 * max(margins)
    far = max(FAR * max(margins), room * float(np.quantile(main, most)))
    return -min(far, max(least, -1.08 * min(lows))), min(far, max(least, 1.08 * max(highs)))


def column(axes: Axes, rows: Sequence[Row], far: tuple[float, float], known: Mapping[str, Look], tallest: int) -> None:
    """Draw a column of rows, as tall as the tallest one; each arm as it is known to look."""
    for at, row in enumerate(rows):
        if row.one is not None and row.one.verdict is not None:
            _row(axes, at, row, far, known[row.arm])
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(xlim=far, ylim=(max(len(rows), tallest) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.grid(visible=False, axis="y")
    quieten(axes)
    axes.set_xlabel("% (of shares: points)", fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    right = axes.twinx()
    right.set(ylim=axes.get_ylim())
    right.set_yticks(range(len(rows)), [row.said for row in rows])
    right.grid(visible=False)
    quieten(right)
    for row, label in zip(rows, axes.get_yticklabels(), strict=True):
        if row.one is None:
            label.set_fontweight("bold")


def _row(axes: Axes, at: int, row: Row, far: tuple[float, float], look: Look) -> None:
    one = row.one
    assert one is not None
    assert one.verdict is not None
    width = one.verdict.margin
    axes.fill_betweenx(
        [at - 0.5, at + 0.5], _percent(one, -width), _percent(one, width), color=FAINT, linewidth=0, zorder=0.5
    )
    mean, low, high = (_percent(one, value) for value in (one.verdict.mean, one.verdict.low, one.verdict.high))
    shown_low, shown_high = max(low, far[0]), min(high, far[1])
    if shown_low < shown_high:
        axes.plot([shown_low, shown_high], [at, at], color=look.colour, linewidth=1.6, solid_capstyle="butt")
    if far[0] < mean < far[1]:
        filled = look.colour if one.verdict.kind.is_settled else "white"
        axes.plot([mean], [at], marker=look.marker, color=look.colour, markerfacecolor=filled, markersize=5.5)
    for beyond, end, arrow in ((low < far[0], far[0], "<"), (high > far[1], far[1], ">")):
        if beyond:
            axes.plot([end], [at], marker=arrow, color=look.colour, markersize=5, clip_on=False)
