"""Effects with their intervals, one row each, in panels of metrics that can share an axis. Worse is to the right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from evenkeel_lab.report.plots.style import COLOURS, FAINT, INK, PAPER, figure, quieten
from evenkeel_lab.stats import Scale, wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.report.plots.style import Look
    from evenkeel_lab.stats.compare import Compared

# In inches.
ROW, AXIS, TITLE = 0.21, 0.62, 0.35
# Of all ends of intervals, this share decides the range of an axis; the rest may end in arrows.
WITHIN, ROOM = 0.9, 1.12
# The least range of an axis, on the scale of differences: one per cent, or a tenth of a point.
LEAST = {Scale.FACTOR: 0.01, Scale.POINTS: 0.001}
# From this range on, an axis of factors has ticks such as x2 instead of percentages.
FACTORS_FROM = math.log(2)
# Distance between two labels, as a share of the range on one side.
FACTOR_GAP = 0.22
PUBLISHED = COLOURS[1]
# An alt text is a sentence: the tables have the other effects.
MOST_IN_ALT = 4
FACTORS = (1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True)
class Row:
    """One row; a heading if `compared` is `None`."""

    label: str
    arm: str = ""
    compared: Compared | None = None
    published: float | None = None
    """The effect that a source states, on the scale of differences; `None` without one."""

    @property
    def effect(self) -> str:
        """The effect as text, shown on the right."""
        if self.compared is None:
            return ""
        return wording.effect(self.compared) or wording.NO_VERDICT


@dataclass(frozen=True)
class Panel:
    """Rows that share an axis: those of metrics on the same scale, with the same direction."""

    scale: Scale
    more_is_worse: bool
    rows: tuple[Row, ...]

    @property
    def far(self) -> float:
        """The range of the axis on both sides, on the scale of differences. Margins do not count."""
        ends, primary = [0.0], [LEAST[self.scale]]
        for row in self.rows:
            if row.compared is not None and row.compared.verdict is not None:
                own = [abs(row.compared.verdict.low), abs(row.compared.verdict.high)]
                ends += own
                primary += own if row.compared.primary else []
                primary += [] if row.published is None else [abs(row.published)]
        return ROOM * max(float(np.quantile(ends, WITHIN)), *primary)


def panels(groups: Sequence[Sequence[Row]]) -> list[Panel]:
    """Return the panels of groups, each of which begins with its heading and has one metric. The first comes first."""
    by_kind: dict[tuple[Scale, bool], list[Row]] = {}
    for group in groups:
        compared = next(row.compared for row in group if row.compared is not None)
        kind = compared.margin.scale, compared.metric.more_is_worse
        by_kind.setdefault(kind, []).extend(group)
    return [Panel(*kind, tuple(rows)) for kind, rows in by_kind.items()]


def draw_effects(shown: Sequence[Panel], arm_looks: Mapping[str, Look]) -> Figure:
    """Draw panels below each other."""
    heights = [len(panel.rows) * ROW + AXIS for panel in shown]
    drawn = figure(sum(heights) + TITLE)
    all_axes = drawn.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(all_axes, shown, strict=True):
        _draw_panel(axes, panel, arm_looks)
    return drawn


def alt_text(heading: str, effects: Sequence[str]) -> str:
    """Return the alt text of a plot: its heading, and the first effects."""
    more = f" and {len(effects) - MOST_IN_ALT} more" if len(effects) > MOST_IN_ALT else ""
    return f"{heading}: {'; '.join(effects[:MOST_IN_ALT])}{more}"


def _draw_panel(axes: Axes, panel: Panel, arm_looks: Mapping[str, Look]) -> None:
    rows, far = panel.rows, panel.far
    for position, row in enumerate(rows):
        if row.compared is not None and row.compared.verdict is not None:
            _draw_row(axes, position, row.compared, far, arm_looks[row.arm])
        if row.published is not None and abs(row.published) <= far:
            axes.plot([row.published], [position], "D", color=PUBLISHED, markerfacecolor=PAPER, markersize=5.5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(xlim=(-far, far), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.grid(visible=False, axis="y")
    quieten(axes)
    _label_axis(axes, panel)
    right = axes.twinx()
    right.set(ylim=axes.get_ylim())
    right.set_yticks(range(len(rows)), [row.effect for row in rows])
    right.grid(visible=False)
    quieten(right)
    for each in (axes, right):
        # Arrows at the ends of long intervals need room.
        each.tick_params(axis="y", pad=8)
    for row, label in zip(rows, axes.get_yticklabels(), strict=True):
        if row.compared is None:
            label.set_fontweight("bold")


def _draw_row(axes: Axes, position: int, compared: Compared, far: float, look: Look) -> None:
    verdict = compared.verdict
    assert verdict is not None
    margin = min(verdict.margin, far)
    axes.add_patch(Rectangle((-margin, position - 0.5), 2 * margin, 1, color=FAINT, linewidth=0, zorder=0.5))
    low, high = max(verdict.low, -far), min(verdict.high, far)
    if low < high:
        axes.plot([low, high], [position, position], color=look.colour, linewidth=1.6, solid_capstyle="butt")
    if -far < verdict.mean < far:
        filled = look.colour if verdict.kind.is_settled else PAPER
        axes.plot([verdict.mean], [position], look.marker, color=look.colour, markerfacecolor=filled, markersize=5.5)
    is_inverted = not compared.metric.more_is_worse
    for is_beyond, end, arrow in ((verdict.low < -far, -far, "<"), (verdict.high > far, far, ">")):
        if is_beyond:
            pointing = {"<": ">", ">": "<"}[arrow] if is_inverted else arrow
            axes.plot([end], [position], pointing, color=look.colour, markersize=5, clip_on=False)


def _label_axis(axes: Axes, panel: Panel) -> None:
    far = panel.far
    if panel.scale is Scale.POINTS:
        ticks = [tick / 100 for tick in _even_ticks(100 * far)]
        labels = {tick: f"{100 * tick:+g}" if tick else "0" for tick in ticks}
    elif far < FACTORS_FROM:
        shares = [share for share in _even_ticks(100 * math.expm1(far)) if share > -100 * -math.expm1(-far)]
        labels = {math.log1p(share / 100): f"{share:+g}" if share else "0" for share in shares}
    else:
        labels = {0.0: "same"}
        nearest = far
        for factor in reversed(FACTORS):
            # Labels need room between each other, and to the one in the middle.
            if math.log(factor) <= min(nearest, far) and math.log(factor) >= FACTOR_GAP * far:
                labels |= {math.log(factor): f"\N{MULTIPLICATION SIGN} {factor:g}", -math.log(factor): f"÷ {factor:g}"}
                nearest = math.log(factor) - FACTOR_GAP * far
    axes.xaxis.set_major_locator(FixedLocator(sorted(labels)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _nearest(labels, value)))
    unit = {Scale.POINTS: "points", Scale.FACTOR: "%" if far < FACTORS_FROM else "factor"}[panel.scale]
    # An SVG shows ordinary spaces as one.
    gap = "\N{NO-BREAK SPACE}" * 6
    axes.set_xlabel(f"← better{gap}{unit}{gap}worse →", fontsize=8)
    if not panel.more_is_worse:
        axes.invert_xaxis()


def _nearest(labels: Mapping[float, str], value: float) -> str:
    return labels[min(labels, key=lambda tick: abs(tick - value))]


def _even_ticks(far: float) -> list[float]:
    ticks = MaxNLocator(7, steps=[1, 2, 5, 10]).tick_values(-far, far)
    return [float(f"{tick:.6g}") for tick in ticks if -far <= tick <= far]
