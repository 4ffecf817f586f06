"""Waterfall plot of a cost: from the total, part by part, down to the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenkeel_lab.report.plots.style import COLOURS, FAINT, INK, PAPER, QUIET, figure, headline, quieten, short, styled
from evenkeel_lab.stats import Scale, wording
from evenkeel_lab.stats.metrics import metric_named, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.ablation import Amount, Attribution
    from evenkeel_lab.runner.results.analysis import Judgement

ROW, REST, THICK = 0.36, 1.1, 0.62


@dataclass(frozen=True)
class Bar:
    """One bar of the waterfall."""

    name: str
    cost: Amount
    fixed: float
    """Start of the bar, which is the end of the bar above."""
    moving: float
    """End of the bar, the centre of its interval."""
    colour: str
    hatch: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval around `moving`."""
        towards = 1 if self.moving == self.fixed + self.cost.mean else -1
        ends = (self.fixed + towards * self.cost.low, self.fixed + towards * self.cost.high)
        return min(ends), max(ends)


@styled
def waterfall(attribution: Attribution | None, judgement: Judgement) -> Figure | None:
    """Draw one bar per part, from the end of the bar above, with its interval as a line."""
    if attribution is None:
        return None
    metric = metric_named(attribution.figure)
    bars = _bars(attribution)
    drawn = figure(len(bars) * ROW + REST)
    axes = drawn.subplots()
    factor = 100.0 if metric.usual.scale is Scale.POINTS else 1.0
    for at, bar in enumerate(bars):
        _draw(axes, at, bar, factor)
        if at + 1 < len(bars):
            axes.plot([bar.moving * factor] * 2, [at + THICK / 2, at + 1 - THICK / 2], color=INK, linewidth=0.6)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(ylim=(len(bars) - 0.5, -0.5))
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.grid(visible=False, axis="y")
    quieten(axes)
    unit = "points" if metric.usual.scale is Scale.POINTS else metric.unit
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} {unit}".rstrip()))
    right = axes.twinx()
    right.set(ylim=axes.get_ylim())
    right.set_yticks(
        range(len(bars)), [wording.change(metric, bar.cost.mean, bar.cost.low, bar.cost.high) for bar in bars]
    )
    right.grid(visible=False)
    quieten(right)
    headline(drawn, f"Parts of the {title(attribution.figure)}, above the baseline", judgement)
    return drawn


def alt(attribution: Attribution | None) -> str:
    """Return the alt text."""
    if attribution is None:
        return ""
    metric = metric_named(attribution.figure)
    costs = [
        f"{bar.name} {wording.change(metric, bar.cost.mean, bar.cost.low, bar.cost.high)}" for bar in _bars(attribution)
    ]
    return f"Parts of the {title(attribution.figure)}, above the baseline: {', '.join(costs)}"


def _bars(attribution: Attribution) -> list[Bar]:
    top = attribution.total.mean
    bars = [Bar("all of it", attribution.total, 0.0, top, QUIET)]
    for piece in attribution.pieces:
        bars.append(Bar(short(piece.name), piece.cost, top, top - piece.cost.mean, COLOURS[0], "///"))
        top -= piece.cost.mean
    if attribution.rest is not None:
        cost = attribution.rest.cost
        bars.append(Bar("the rest", cost, top, top - cost.mean, FAINT))
    return bars


def _draw(axes: Axes, at: int, bar: Bar, factor: float) -> None:
    axes.barh(
        at,
        (bar.moving - bar.fixed) * factor,
        left=bar.fixed * factor,
        height=THICK,
        facecolor=PAPER if bar.hatch else bar.colour,
        edgecolor=bar.colour if bar.hatch else INK,
        hatch=bar.hatch,
        linewidth=0.8,
    )
    low, high = bar.interval
    axes.plot([low * factor, high * factor], [at, at], color=INK, linewidth=1.6, marker="|", markersize=8)
