"""What figures are drawn from: the sketches of runs that count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from evenkeel_lab.runner.measurement.latency_summary import EDGES_MS, GRID, TIMES
from evenkeel_lab.runner.results.analysis import paired
from evenkeel_lab.runner.schedule import ScheduledPair
from evenkeel_lab.stats import LEAST_PAIRS, alpha_per_look

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from evenkeel_lab.runner.measurement.latency_summary import Sketch
    from evenkeel_lab.runner.results.summary import Summary

    Counts = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shift:
    """By how much two arms differ at one quantile."""

    share: float
    differences: Sequence[float]
    """Of each pair: logarithms of factors."""
    mean: float
    band: tuple[float, float] | None
    """None if there are too few pairs."""


def sketches(summary: Summary) -> dict[str, list[Sketch]]:
    """Return the sketches of all runs that count, by arm, in the order of the file; the engine's own arms come last."""
    names = list(summary.investigation.arms)
    found: dict[str, list[Sketch]] = {name: [] for name in names}
    for meeting, runs in sorted(summary.done.items()):
        if any(run.limited for run in runs):
            continue
        for arm, one in summary.sketches.get(meeting, {}).items():
            found.setdefault(arm, []).append(one)
    return {arm: told for arm, told in found.items() if any(any(map(sum, one.over_time)) for one in told)}


def counted_over_time(summary: Summary) -> Mapping[str, Counts]:
    """Return how many requests of a run of each arm fall into each bin of times and of latencies, in the mean."""
    return {
        arm: np.mean([np.asarray(one.over_time, dtype=np.float64) for one in found], axis=0)
        for arm, found in sketches(summary).items()
    }


def halves(counts: Counts) -> tuple[Counts, Counts]:
    """Return those of the first half of a run, and of the second."""
    return counts[: TIMES // 2], counts[TIMES // 2 :]


def middle(counts: Counts) -> int | None:
    """Return the bin of latencies in which the median lies; None where nothing was answered."""
    below = np.cumsum(counts.sum(axis=0))
    return int(np.searchsorted(below, below[-1] / 2)) if below[-1] else None


def median(counts: Counts) -> float | None:
    """Return the median latency in milliseconds, as if all of a bin were spread evenly over it."""
    at = middle(counts)
    if at is None:
        return None
    of_bins = counts.sum(axis=0)
    share = (of_bins.sum() / 2 - of_bins[:at].sum()) / of_bins[at]
    return float(EDGES_MS[at] * (EDGES_MS[at + 1] / EDGES_MS[at]) ** share)


def shifts(summary: Summary, baseline: str, candidate: str) -> list[Shift]:
    """Return by how much two arms differ, quantile by quantile: only those that every pair can tell."""
    asked = summary.investigation
    valid, _ = paired(asked, summary.done, asked.session.looks[-1], baseline, candidate)
    both = []
    for number, _first, _second in valid:
        told = summary.sketches.get(ScheduledPair(number, (baseline, candidate), 0).name, {})
        if baseline not in told or candidate not in told:
            return []
        both.append((told[baseline].quantiles, told[candidate].quantiles))
    found = []
    for share in GRID:
        values = [(first.get(str(share), 0.0), second.get(str(share), 0.0)) for first, second in both]
        if values and all(first > 0 and second > 0 for first, second in values):
            found.append(
                _shift(
                    share, [math.log(second / first) for first, second in values], alpha_per_look(asked.session.looks)
                )
            )
    return found


def _shift(share: float, differences: Sequence[float], alpha: float) -> Shift:
    band = None
    if len(differences) >= LEAST_PAIRS:
        low, high = DescrStatsW(np.asarray(differences)).tconfint_mean(alpha)
        band = float(low), float(high)
    return Shift(share, differences, float(np.mean(differences)), band)


def percent(difference: float) -> float:
    """Return the logarithm of a factor as people say it."""
    return math.expm1(difference) * 100
