"""The tail: latency against how rare it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from evenkeel_lab.report.plot_data import sketches
from evenkeel_lab.report.plots.scales import around, log_axis, said
from evenkeel_lab.report.plots.style import figure, headline, looks, named, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from evenkeel_lab.runner.measurement.latency_summary import Sketch
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

    Curve = Mapping[float, Sequence[float]]

HEIGHT = 3.8
LEAST_SHARE, LEAST_POINTS = 0.5, 2
TOLD = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
QUARTILES = (0.25, 0.75)


@styled
def tail(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw a line for each arm, with the middle half of its runs around it."""
    curves = _curves(summary)
    if not curves:
        return None
    drawn = figure(HEIGHT)
    axes = drawn.subplots()
    known = looks(summary.investigation)
    for arm, told in curves.items():
        look, rare = known[arm], [_rare(share) for share in told]
        low, high = (np.array([np.quantile(found, at) for found in told.values()]) for at in QUARTILES)
        axes.fill_between(rare, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(
            rare,
            [float(np.median(found)) for found in told.values()],
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.5,
            label=named(arm, summary.investigation.baseline),
        )
    shares = sorted({share for told in curves.values() for share in told})
    axes.set(xscale="log", xlim=(_rare(shares[0]) / 1.06, _rare(shares[-1]) * 1.06))
    told_shares = [share for share in TOLD if share in shares]
    axes.xaxis.set_major_locator(FixedLocator([_rare(share) for share in told_shares]))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{share * 100:g} %" for share in told_shares]))
    axes.xaxis.set_minor_locator(NullLocator())
    everything = [value for told in curves.values() for found in told.values() for value in found]
    log_axis(axes.yaxis, *around(everything), "ms")
    axes.set(xlabel="share of requests that are faster; rarer ones to the right")
    # A name beside the end of a line would need a leader, and where a line ends early, that looks like more of it.
    drawn.legend(loc="outside right upper", handlelength=3)
    headline(drawn, "Latency, the rarer the further right; band: half of the runs", judgement)
    return drawn


def alt(summary: Summary, _: Judgement) -> str:
    """Say it in words."""
    told = []
    for arm, curve in _curves(summary).items():
        share = max(curve)
        told.append(f"{arm} {said(float(f'{np.median(curve[share]):.3g}'), 'ms')} at {share * 100:g} %")
    return f"Tail plot: latency by how rare it is, at the highest quantile that can be told: {', '.join(told)}"


def _rare(share: float) -> float:
    return 1 / (1 - share)


def _curves(summary: Summary) -> dict[str, Curve]:
    """Return each arm's latencies at each quantile that all of its runs can tell: one of each run."""
    found = {arm: _curve(told) for arm, told in sketches(summary).items()}
    return {arm: curve for arm, curve in found.items() if len(curve) >= LEAST_POINTS}


def _curve(told: Sequence[Sketch]) -> Curve:
    common = [share for share in told[0].quantiles if all(one.quantiles.get(share, 0.0) > 0 for one in told)]
    shares = sorted(float(share) for share in common if float(share) >= LEAST_SHARE)
    return {share: [one.quantiles[str(share)] for one in told] for share in shares}
