"""Plot of the shift function: differences from the baseline at each quantile, within pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenkeel_lab.report.plot_data import percent, shifts
from evenkeel_lab.report.plots.style import INK, QUIET, figure, headline, looks, named, short, styled
from evenkeel_lab.stats import alpha_per_look

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.report.plot_data import Shift
    from evenkeel_lab.report.plots.style import Look
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

MOST_COLUMNS = 3
HEIGHT, REST = 2.0, 0.8
MIDDLE = 0.5
# Quantiles with a label, the most important first, if there is room.
LABELLED = (0.5, 0.05, 0.99, 0.9, 0.999, 0.95)
# Labels are at least this part of the axis apart.
ROOM = 0.2
# A line needs two points.
LEAST_POINTS = 2


@styled
def shift(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw one panel per arm: the difference of each pair, and the mean with its band. Return `None` without data."""
    by_arm = _shifts_by_arm(summary, judgement)
    if not by_arm:
        return None
    columns = min(MOST_COLUMNS, len(by_arm))
    rows = math.ceil(len(by_arm) / columns)
    drawn = figure(rows * HEIGHT + REST)
    panels = list(drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    arm_looks = looks(summary.investigation)
    shares = sorted({each.share for of_arm in by_arm.values() for each in of_arm})
    for axes, (arm, of_arm) in zip(panels, by_arm.items(), strict=False):
        _panel(axes, [shares.index(each.share) for each in of_arm], of_arm, arm_looks[arm])
        axes.set_title(named(arm, summary.investigation.baseline))
    for axes in panels[len(by_arm) :]:
        axes.set_visible(False)
    _label(panels[: len(by_arm)], shares, columns)
    sure = (1 - alpha_per_look(summary.investigation.session.looks)) * 100
    banded = any(each.band for of_arm in by_arm.values() for each in of_arm)
    title = f"Latency against {short(summary.investigation.baseline)} at each quantile; thin: each pair"
    headline(drawn, f"{title}; dashed: {sure:.3g} % interval" if banded else title, judgement)
    return drawn


def alt(summary: Summary, judgement: Judgement) -> str:
    """Return the alt text."""
    parts = []
    for arm, of_arm in _shifts_by_arm(summary, judgement).items():
        shown = [each for each in of_arm if each.share in {MIDDLE, of_arm[-1].share}]
        differences = ", ".join(f"{percent(each.mean):+.1f} % at {each.share * 100:g} %" for each in shown)
        parts.append(f"{arm} {differences}")
    baseline = summary.investigation.baseline
    return f"Shift function: latency differences from {baseline} within pairs, by quantile: {'; '.join(parts)}"


def _shifts_by_arm(summary: Summary, judgement: Judgement) -> Mapping[str, Sequence[Shift]]:
    baseline = summary.investigation.baseline
    by_arm = {
        comparison.candidate: shifts(summary, baseline, comparison.candidate)
        for comparison in judgement.comparisons
        if comparison.baseline == baseline
    }
    return {arm: of_arm for arm, of_arm in by_arm.items() if len(of_arm) >= LEAST_POINTS}


def _panel(axes: Axes, positions: Sequence[int], of_arm: Sequence[Shift], look: Look) -> None:
    pairs = len(of_arm[0].differences)
    for pair in range(pairs):
        axes.plot(
            positions, [percent(each.differences[pair]) for each in of_arm], color=QUIET, linewidth=0.4, zorder=1.5
        )
    bands = [each.band for each in of_arm if each.band is not None]
    if len(bands) == len(of_arm):
        lows, highs = [percent(low) for low, _ in bands], [percent(high) for _, high in bands]
        axes.fill_between(positions, lows, highs, color=look.colour, alpha=0.2, linewidth=0, zorder=2)
        # Among many grey lines, shading alone would be invisible.
        for edge in (lows, highs):
            axes.plot(positions, edge, color=look.colour, linewidth=1.0, linestyle=(0, (4, 2)), zorder=2.2)
    means = [percent(each.mean) for each in of_arm]
    axes.plot(positions, means, color=look.colour, marker=look.marker, markersize=3.5, linewidth=1.4, zorder=3)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=2.5)


def _label(panels: Sequence[Axes], shares: Sequence[float], columns: int) -> None:
    # Panels share their axes.
    first = panels[0]
    last = len(shares) - 1
    shown = [last]
    for share in (*LABELLED, shares[0]):
        if share in shares and all(abs(shares.index(share) - at) >= ROOM * last for at in shown):
            shown.append(shares.index(share))
    first.set_xticks(shown, [f"{shares[at] * 100:g} %" for at in shown])
    first.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+,g} %" if value else "0"))
    for axes in panels[-columns:]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("share of requests that are faster", fontsize=8)
