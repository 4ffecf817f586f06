"""Forest plot: effects with intervals and margins, one row per metric and comparison."""

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
# Limit of the axis in multiples of the largest margin, unless the primary metric needs more.
FAR = 5


@dataclass(frozen=True)
class Row:
    """One line of the plot; a heading if `compared` is `None`."""

    label: str
    arm: str = ""
    compared: Compared | None = None

    @property
    def effect(self) -> str:
        """The effect as text, shown on the right."""
        if self.compared is None:
            return ""
        return wording.effect(self.compared) or wording.NO_VERDICT


@styled
def forest(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw all effects with intervals and margins, in two columns if there are many. Return `None` without verdicts."""
    groups = _groups(summary, judgement)
    everything = [row.compared for group in groups for row in group if row.compared and row.compared.verdict]
    if not everything:
        return None
    count = sum(map(len, groups))
    columns = [groups] if count <= ONE_COLUMN or len(groups) == 1 else _halves(groups)
    tallest = max(sum(map(len, column)) for column in columns)
    drawn = figure(tallest * ROW + REST, 9 if len(columns) == 1 else 12)
    all_axes = drawn.subplots(1, len(columns), squeeze=False)[0]
    far = ends(everything)
    arm_looks = looks(summary.investigation)
    for axes, groups_of_column in zip(all_axes, columns, strict=True):
        column(axes, [row for group in groups_of_column for row in group], far, arm_looks, tallest)
    sure = (1 - alpha_per_look(summary.investigation.session.looks)) * 100
    baseline = short(summary.investigation.baseline)
    headline(
        drawn,
        f"Effects against {baseline}, {sure:.3g} % intervals; grey: what does not matter; hollow: not settled",
        judgement,
    )
    return drawn


def alt(summary: Summary, judgement: Judgement) -> str:
    """Return the alt text."""
    baseline = summary.investigation.baseline
    effects = []
    for comparison in judgement.comparisons:
        decisive = [compared for compared in comparison.figures if compared.primary] or comparison.figures[:1]
        if comparison.baseline == baseline and decisive:
            (compared,) = decisive
            effect = wording.effect(compared) or wording.NO_VERDICT
            effects.append(f"{comparison.candidate} {compared.metric.name} {effect}, margin {wording.margin(compared)}")
    return f"Forest plot of effects against {baseline} with intervals: {'; '.join(effects)}"


def _groups(summary: Summary, judgement: Judgement) -> list[list[Row]]:
    """Return a heading and the rows of each metric, the primary metric first. The twin comes last in each."""
    investigation = summary.investigation
    names = [
        investigation.primary,
        *(name for name in ordered(list(investigation.figures)) if name != investigation.primary),
    ]
    groups = []
    for name in names:
        rows = [
            Row(_label(investigation.baseline, comparison), comparison.candidate, compared)
            for comparison in judgement.comparisons
            for compared in comparison.figures
            if compared.metric.name == name
        ]
        if rows:
            rows.sort(key=lambda row: row.arm == AGAIN)
            groups.append([Row(f"{name} (decides)" if name == investigation.primary else name), *rows])
    return groups


def _label(baseline: str, comparison: Comparison) -> str:
    if comparison.baseline == baseline:
        return named(comparison.candidate, baseline)
    return f"{short(comparison.candidate, 18)} vs {short(comparison.baseline, 14)}"


def _halves(groups: Sequence[list[Row]]) -> list[Sequence[list[Row]]]:
    """Split groups into two columns of similar height."""
    total = sum(map(len, groups))
    middle = min(range(1, len(groups)), key=lambda cut: abs(2 * sum(map(len, groups[:cut])) - total))
    return [groups[:middle], groups[middle:]]


def _percent(compared: Compared, difference: float) -> float:
    return compared.margin.effect(difference) * 100


def ends(shown: Sequence[Compared], most: float = 1.0, room: float = 1.1) -> tuple[float, float]:
    """Return the limits of the axis. Values beyond are drawn as arrows.

    The `most` quantile of the primary metric's interval ends fits, with `room` times its size.
    """
    lows, highs, margins, main = [], [], [], [0.0]
    for compared in shown:
        assert compared.verdict is not None
        low, high = _percent(compared, compared.verdict.low), _percent(compared, compared.verdict.high)
        lows.append(low)
        highs.append(high)
        margins.append(_percent(compared, compared.verdict.margin))
        if compared.primary:
            main += [abs(low), abs(high)]
    least = 1.3 * max(margins)
    far = max(FAR * max(margins), room * float(np.quantile(main, most)))
    return -min(far, max(least, -1.08 * min(lows))), min(far, max(least, 1.08 * max(highs)))


def column(
    axes: Axes, rows: Sequence[Row], far: tuple[float, float], arm_looks: Mapping[str, Look], tallest: int
) -> None:
    """Draw a column of rows, with space for `tallest` rows."""
    for position, row in enumerate(rows):
        if row.compared is not None and row.compared.verdict is not None:
            _row(axes, position, row, far, arm_looks[row.arm])
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
    right.set_yticks(range(len(rows)), [row.effect for row in rows])
    right.grid(visible=False)
    quieten(right)
    for row, label in zip(rows, axes.get_yticklabels(), strict=True):
        if row.compared is None:
            label.set_fontweight("bold")


def _row(axes: Axes, position: int, row: Row, far: tuple[float, float], look: Look) -> None:
    compared = row.compared
    assert compared is not None
    assert compared.verdict is not None
    width = compared.verdict.margin
    axes.fill_betweenx(
        [position - 0.5, position + 0.5],
        _percent(compared, -width),
        _percent(compared, width),
        color=FAINT,
        linewidth=0,
        zorder=0.5,
    )
    mean, low, high = (
        _percent(compared, value) for value in (compared.verdict.mean, compared.verdict.low, compared.verdict.high)
    )
    shown_low, shown_high = max(low, far[0]), min(high, far[1])
    if shown_low < shown_high:
        axes.plot(
            [shown_low, shown_high], [position, position], color=look.colour, linewidth=1.6, solid_capstyle="butt"
        )
    if far[0] < mean < far[1]:
        filled = look.colour if compared.verdict.kind.is_settled else "white"
        axes.plot([mean], [position], marker=look.marker, color=look.colour, markerfacecolor=filled, markersize=5.5)
    for beyond, end, arrow in ((low < far[0], far[0], "<"), (high > far[1], far[1], ">")):
        if beyond:
            axes.plot([end], [position], marker=arrow, color=look.colour, markersize=5, clip_on=False)
