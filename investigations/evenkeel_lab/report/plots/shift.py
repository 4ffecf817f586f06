"""The shift function: by how much an arm differs from the baseline, quantile by quantile, within pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenkeel_lab.report.plot_data import percent, shifts
from evenkeel_lab.report.plots.style import FAINT, INK, figure, headline, looks, named, short, styled
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
# The quantiles that are named, the most important ones first, if they have room.
TOLD = (0.5, 0.05, 0.99, 0.9, 0.999, 0.95)
ROOM = 3


@styled
def shift(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw a panel for each arm: its difference at each quantile, each pair's and the mean's with its band."""
    found = _found(summary, judgement)
    if not found:
        return None
    columns = min(MOST_COLUMNS, len(found))
    rows = math.ceil(len(found) / columns)
    drawn = figure(rows * HEIGHT + REST)
    panels = list(drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    known = looks(summary.investigation)
    shares = sorted({one.share for told in found.values() for one in told})
    for axes, (arm, told) in zip(panels, found.items(), strict=False):
        _panel(axes, [shares.index(one.share) for one in told], told, known[arm])
        axes.set_title(named(arm, summary.investigation.baseline))
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    _label(panels[: len(found)], shares, columns)
    sure = (1 - alpha_per_look(summary.investigation.session.looks)) * 100
    banded = any(one.band for told in found.values() for one in told)
    told_of = f"Latency against {short(summary.investigation.baseline)} at each quantile; thin: each pair"
    headline(drawn, f"{told_of}; dashed: {sure:.3g} % interval" if banded else told_of, judgement)
    drawn.supxlabel("share of requests that are faster", fontsize=9)
    return drawn


def alt(summary: Summary, judgement: Judgement) -> str:
    """Say it in words."""
    told = []
    for arm, found in _found(summary, judgement).items():
        at = [one for one in found if one.share in {MIDDLE, found[-1].share}]
        said = ", ".join(f"{percent(one.mean):+.1f} % at {one.share * 100:g} %" for one in at)
        told.append(f"{arm} {said}")
    baseline = summary.investigation.baseline
    return f"Shift function: latency differences from {baseline} within pairs, by quantile: {'; '.join(told)}"


def _found(summary: Summary, judgement: Judgement) -> Mapping[str, Sequence[Shift]]:
    baseline = summary.investigation.baseline
    found = {
        one.candidate: shifts(summary, baseline, one.candidate)
        for one in judgement.comparisons
        if one.baseline == baseline
    }
    return {arm: told for arm, told in found.items() if told}


def _panel(axes: Axes, places: Sequence[int], told: Sequence[Shift], look: Look) -> None:
    pairs = len(told[0].differences)
    for pair in range(pairs):
        axes.plot(places, [percent(one.differences[pair]) for one in told], color=FAINT, linewidth=0.8, zorder=1.5)
    bands = [one.band for one in told if one.band is not None]
    if len(bands) == len(told):
        lows, highs = [percent(low) for low, _ in bands], [percent(high) for _, high in bands]
        axes.fill_between(places, lows, highs, color=look.colour, alpha=0.2, linewidth=0, zorder=2)
        # Among many pairs, and in grey, a mere shade would be lost.
        for edge in (lows, highs):
            axes.plot(places, edge, color=look.colour, linewidth=1.0, linestyle=(0, (4, 2)), zorder=2.2)
    means = [percent(one.mean) for one in told]
    axes.plot(places, means, color=look.colour, marker=look.marker, markersize=3.5, linewidth=1.4, zorder=3)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=2.5)


def _label(panels: Sequence[Axes], shares: Sequence[float], columns: int) -> None:
    # Panels share their axes.
    first = panels[0]
    shown = [len(shares) - 1]
    for share in TOLD:
        if share in shares and all(abs(shares.index(share) - at) >= ROOM for at in shown):
            shown.append(shares.index(share))
    first.set_xticks(shown, [f"{shares[at] * 100:g} %" for at in shown])
    first.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g} %" if value else "0"))
    for axes in panels[-columns:]:
        axes.tick_params(labelbottom=True)
