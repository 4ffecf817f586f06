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
PER_CENT = 100
TIMES, DIVIDED = "\N{MULTIPLICATION SIGN}", "÷"
# An axis has about this many ticks; more if one of its halves had none.
TICKS = (7, 10, 14)


@dataclass(frozen=True)
class Row:
    """One row; a heading if `compared` is `None`."""

    label: str
    arm: str = ""
    compared: Compared | None = None
    published: float | None = None
    """The effect that a source states, on the scale of differences; `None` without one."""

    def effect(self, *, as_factor: bool) -> str:
        """Return the effect as text, shown on the right. On an axis of factors, it is a factor from two on."""
        if self.compared is None:
            return ""
        if self.compared.verdict is None:
            return wording.NO_VERDICT
        is_large = abs(self.compared.verdict.mean) >= FACTORS_FROM
        if not as_factor or not is_large or self.compared.metric.is_part:
            return wording.effect(self.compared)
        if self.compared.verdict.mean > 0:
            return f"{TIMES} {wording.multiple(self.compared)}"
        return f"{DIVIDED} {wording.factor(self.compared)}"


@dataclass(frozen=True)
class Panel:
    """Rows that share an axis: those of metrics on the same scale, with the same direction."""

    scale: Scale
    more_is_worse: bool
    is_part: bool
    """Whether the axis has parts of the baseline's value, from 0 on, instead of differences."""
    rows: tuple[Row, ...]

    @property
    def has_factors(self) -> bool:
        """Whether its axis has factors instead of percentages."""
        return self.scale is Scale.FACTOR and not self.is_part and self.far >= FACTORS_FROM

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis."""
        if not self.is_part:
            return -self.far, self.far
        ends = [row.compared.verdict.high for row in self.rows if row.compared and row.compared.verdict]
        return 0.0, ROOM * max(map(self.position, ends))

    @property
    def has_arrows(self) -> bool:
        """Whether intervals continue beyond the axis."""
        least, most = self.limits
        verdicts = [row.compared.verdict for row in self.rows if row.compared and row.compared.verdict]
        return any(self.position(each.low) < least or self.position(each.high) > most for each in verdicts)

    def position(self, difference: float) -> float:
        """Return where a difference is on the axis."""
        return PER_CENT * math.exp(difference) if self.is_part else difference

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
    by_kind: dict[tuple[Scale, bool, bool], list[Row]] = {}
    for group in groups:
        compared = next(row.compared for row in group if row.compared is not None)
        kind = compared.margin.scale, compared.metric.more_is_worse, compared.metric.is_part
        by_kind.setdefault(kind, []).extend(group)
    return [Panel(*kind, tuple(rows)) for kind, rows in by_kind.items()]


def key(shown: Sequence[Panel]) -> str:
    """Return the sentences that explain the marks of panels."""
    arrows = "Arrow: beyond the axis." if any(panel.has_arrows for panel in shown) else ""
    verdicts = "" if all(panel.is_part for panel in shown) else "Grey band: too small to matter. Hollow: not settled. "
    return f"{verdicts}{arrows}".strip()


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
    rows = panel.rows
    for at, row in enumerate(rows):
        if row.compared is not None and row.compared.verdict is not None:
            _draw_row(axes, at, row.compared, panel, arm_looks[row.arm])
        if row.published is not None and abs(row.published) <= panel.far:
            axes.plot([row.published], [at], "D", color=PUBLISHED, markerfacecolor="none", markersize=6.5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(xlim=panel.limits, ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.grid(visible=False, axis="y")
    quieten(axes)
    _label_axis(axes, panel)
    right = axes.twinx()
    right.set(ylim=axes.get_ylim())
    right.set_yticks(range(len(rows)), [row.effect(as_factor=panel.has_factors) for row in rows])
    right.grid(visible=False)
    quieten(right)
    for each in (axes, right):
        # Arrows at the ends of long intervals need room.
        each.tick_params(axis="y", pad=8)
    for row, label in zip(rows, axes.get_yticklabels(), strict=True):
        if row.compared is None:
            label.set_fontweight("bold")


def _draw_row(axes: Axes, at: int, compared: Compared, panel: Panel, look: Look) -> None:
    verdict = compared.verdict
    assert verdict is not None
    least, most = panel.limits
    if not panel.is_part:
        margin = min(verdict.margin, most)
        axes.add_patch(Rectangle((-margin, at - 0.5), 2 * margin, 1, color=FAINT, linewidth=0, zorder=0.5))
    low, middle, high = map(panel.position, (verdict.low, verdict.mean, verdict.high))
    if max(low, least) < min(high, most):
        ends = [max(low, least), min(high, most)]
        axes.plot(ends, [at, at], color=look.colour, linewidth=1.6, solid_capstyle="butt")
    if least < middle < most:
        filled = look.colour if verdict.kind.is_settled or panel.is_part else PAPER
        axes.plot([middle], [at], look.marker, color=look.colour, markerfacecolor=filled, markersize=5.5)
    for is_beyond, end, arrow in ((low < least, least, "<"), (high > most, most, ">")):
        if is_beyond:
            pointing = arrow if panel.more_is_worse else {"<": ">", ">": "<"}[arrow]
            axes.plot([end], [at], pointing, color=look.colour, markersize=5, clip_on=False)


def _label_axis(axes: Axes, panel: Panel) -> None:
    if panel.is_part:
        axes.xaxis.set_major_locator(MaxNLocator(TICKS[0], steps=[1, 2, 5, 10]))
        axes.set_xlabel("per cent of the baseline", fontsize=8)
        return
    far = panel.far
    if panel.scale is Scale.POINTS:
        ticks = [tick / 100 for tick in _even_ticks(100 * far, -100 * far)]
        labels = {tick: f"{100 * tick:+g}" if tick else "0" for tick in ticks}
    elif not panel.has_factors:
        shares = _even_ticks(100 * math.expm1(far), 100 * math.expm1(-far))
        labels = {math.log1p(share / 100): f"{share:+g}" if share else "0" for share in shares}
    else:
        labels = {0.0: "same"}
        nearest = far
        for factor in reversed(FACTORS):
            # Labels need room between each other, and to the one in the middle.
            if math.log(factor) <= min(nearest, far) and math.log(factor) >= FACTOR_GAP * far:
                labels |= {math.log(factor): f"{TIMES} {factor:g}", -math.log(factor): f"{DIVIDED} {factor:g}"}
                nearest = math.log(factor) - FACTOR_GAP * far
    axes.xaxis.set_major_locator(FixedLocator(sorted(labels)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _nearest(labels, value)))
    unit = "points" if panel.scale is Scale.POINTS else "factor" if panel.has_factors else "%"
    # An SVG shows ordinary spaces as one.
    gap = "\N{NO-BREAK SPACE}" * 6
    axes.set_xlabel(f"← better{gap}{unit}{gap}worse →", fontsize=8)
    if not panel.more_is_worse:
        axes.invert_xaxis()


def _nearest(labels: Mapping[float, str], value: float) -> str:
    return labels[min(labels, key=lambda tick: abs(tick - value))]


def _even_ticks(high: float, low: float) -> list[float]:
    """Return evenly spaced ticks, at least one on each side of zero."""
    ticks: list[float] = []
    for count in TICKS:
        even = MaxNLocator(count, steps=[1, 2, 5, 10]).tick_values(low, high)
        ticks = [float(f"{tick:.6g}") for tick in even if low <= tick <= high]
        if ticks[0] < 0 < ticks[-1]:
            break
    return ticks
