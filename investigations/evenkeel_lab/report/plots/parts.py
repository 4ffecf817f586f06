"""Plot of a cost and its parts: one bar each, all of them from zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenkeel_lab.report.plots.style import COLOURS, FAINT, INK, QUIET, figure, headline, quieten, short, styled
from evenkeel_lab.stats import Scale, wording
from evenkeel_lab.stats.metrics import metric_named, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.ablation import Amount, Attribution
    from evenkeel_lab.runner.results.analysis import Judgement

ROW, REST, THICK = 0.36, 1.1, 0.62


@styled
def parts(attribution: Attribution | None, judgement: Judgement) -> Figure | None:
    """Draw a bar for the whole cost and one for each part, with its interval as a line."""
    if attribution is None:
        return None
    metric = metric_named(attribution.figure)
    bars = _bars(attribution)
    drawn = figure(len(bars) * ROW + REST)
    axes = drawn.subplots()
    is_share = metric.usual.scale is Scale.POINTS
    factor = 100.0 if is_share else 1.0
    for at, (_, cost, colour) in enumerate(bars):
        axes.barh(at, cost.mean * factor, height=THICK, color=colour)
        ends = [cost.low * factor, cost.high * factor]
        axes.plot(ends, [at, at], color=INK, linewidth=1.6, marker="|", markersize=8)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set(ylim=(len(bars) - 0.5, -0.5))
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.grid(visible=False, axis="y")
    quieten(axes)
    unit = "points" if is_share else metric.unit
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g} {unit}".rstrip()))
    right = axes.twinx()
    right.set(ylim=axes.get_ylim())
    right.set_yticks(range(len(bars)), [wording.change(metric, cost.mean, cost.low, cost.high) for _, cost, _ in bars])
    right.grid(visible=False)
    quieten(right)
    of = title(attribution.figure)
    headline(drawn, f"{of[:1].upper()}{of[1:]} above the baseline, and its parts", judgement)
    return drawn


def alt(attribution: Attribution | None) -> str:
    """Return the alt text."""
    if attribution is None:
        return ""
    metric = metric_named(attribution.figure)
    costs = [f"{name} {wording.change(metric, cost.mean, cost.low, cost.high)}" for name, cost, _ in _bars(attribution)]
    return f"Parts of the {title(attribution.figure)}, above the baseline: {', '.join(costs)}"


def _bars(attribution: Attribution) -> list[tuple[str, Amount, str]]:
    """Return the name, the cost and the colour of each bar."""
    bars = [("all of it", attribution.total, QUIET)]
    bars += [(short(piece.name), piece.cost, COLOURS[0]) for piece in attribution.pieces]
    if attribution.rest is not None:
        bars.append(("the rest", attribution.rest.cost, FAINT))
    return bars
