"""Plot of the tail: latency by how rare it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from evenkeel_lab.investigation_spec.investigation import DIRECT
from evenkeel_lab.report.plot_data import sketches
from evenkeel_lab.report.plots.scales import around, log_axis, tick_label
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
LABELLED = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
# Labels of two shares need a distance: one of them is this many times as rare.
NEAR = 1.5
QUARTILES = (0.25, 0.75)


@styled
def tail(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw a line for each arm, and a band for half of its runs. Return `None` if the baseline has no quantiles."""
    curves = _curves(summary)
    if not curves:
        return None
    drawn = figure(HEIGHT)
    axes = drawn.subplots()
    arm_looks = looks(summary.investigation)
    for arm, curve in curves.items():
        look, rare = arm_looks[arm], [_rare(share) for share in curve]
        low, high = (np.array([np.quantile(latencies, at) for latencies in curve.values()]) for at in QUARTILES)
        axes.fill_between(rare, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(
            rare,
            [float(np.median(latencies)) for latencies in curve.values()],
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.5,
            label=named(arm, summary.investigation.baseline),
        )
    shares = sorted({share for curve in curves.values() for share in curve})
    axes.set(xscale="log", xlim=(_rare(shares[0]) / 1.06, _rare(shares[-1]) * 1.06))
    last = shares[-1]
    labelled = [*(share for share in LABELLED if share in shares and _rare(last) / _rare(share) > NEAR), last]
    axes.xaxis.set_major_locator(FixedLocator([_rare(share) for share in labelled]))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{share * 100:g} %" for share in labelled]))
    axes.xaxis.set_minor_locator(NullLocator())
    everything = [value for curve in curves.values() for latencies in curve.values() for value in latencies]
    log_axis(axes.yaxis, *around(everything), "ms")
    axes.set(xlabel="share of requests that are faster")
    # Labels at the ends of lines would need leaders, which look like a part of lines that end early.
    drawn.legend(loc="outside right upper", handlelength=3)
    headline(drawn, "Latency at each quantile; a band holds half of the runs", judgement)
    return drawn


def alt(summary: Summary, _: Judgement) -> str:
    """Return the alt text."""
    latencies = []
    for arm, curve in _curves(summary).items():
        share = max(curve)
        latencies.append(f"{arm} {tick_label(float(f'{np.median(curve[share]):.3g}'), 'ms')} at {share * 100:g} %")
    return f"Latency at the highest quantile that all runs of an arm have: {', '.join(latencies)}"


def _rare(share: float) -> float:
    return 1 / (1 - share)


def _curves(summary: Summary) -> dict[str, Curve]:
    """Return the latency of each run of an arm, by arm and by quantile, for quantiles known in all its runs.

    The mock alone is left out: its faster and more numerous requests would take most of both axes.
    """
    by_arm = {arm: _curve(of_arm) for arm, of_arm in sketches(summary).items() if arm != DIRECT}
    drawable = {arm: curve for arm, curve in by_arm.items() if len(curve) >= LEAST_POINTS}
    return drawable if summary.investigation.baseline in drawable else {}


def _curve(of_arm: Sequence[Sketch]) -> Curve:
    common = [share for share in of_arm[0].quantiles if all(sketch.quantiles.get(share, 0.0) > 0 for sketch in of_arm)]
    shares = sorted(float(share) for share in common if float(share) >= LEAST_SHARE)
    return {share: [sketch.quantiles[str(share)] for sketch in of_arm] for share in shares}
