"""Data of the plots, from the latency summaries of the runs that count."""

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
    """Difference between two arms at one quantile."""

    share: float
    differences: Sequence[float]
    """Logarithm of the factor, per pair."""
    mean: float
    band: tuple[float, float] | None
    """`None` if there are too few pairs."""


def sketches(summary: Summary) -> dict[str, list[Sketch]]:
    """Return the sketches of all runs that count, by arm, in the order of the file; twin and mock come last."""
    names = list(summary.investigation.arms)
    by_arm: dict[str, list[Sketch]] = {name: [] for name in names}
    for name, runs in sorted(summary.done.items()):
        if any(run.limited for run in runs):
            continue
        for arm, sketch in summary.sketches.get(name, {}).items():
            by_arm.setdefault(arm, []).append(sketch)
    return {arm: of_arm for arm, of_arm in by_arm.items() if any(any(map(sum, sketch.over_time)) for sketch in of_arm)}


def counted_over_time(summary: Summary) -> Mapping[str, Counts]:
    """Return the mean number of requests per bin of time and latency in a run, by arm."""
    return {
        arm: np.mean([np.asarray(sketch.over_time, dtype=np.float64) for sketch in of_arm], axis=0)
        for arm, of_arm in sketches(summary).items()
    }


def halves(counts: Counts) -> tuple[Counts, Counts]:
    """Split counts into the first and second half of a run."""
    return counts[: TIMES // 2], counts[TIMES // 2 :]


def middle(counts: Counts) -> int | None:
    """Return the index of the latency bin with the median, or `None` if no request was answered."""
    below = np.cumsum(counts.sum(axis=0))
    return int(np.searchsorted(below, below[-1] / 2)) if below[-1] else None


def median(counts: Counts) -> float | None:
    """Return the median latency in milliseconds, assuming an even spread within a bin, or `None` if unknown."""
    at = middle(counts)
    if at is None:
        return None
    of_bins = counts.sum(axis=0)
    share = (of_bins.sum() / 2 - of_bins[:at].sum()) / of_bins[at]
    return float(EDGES_MS[at] * (EDGES_MS[at + 1] / EDGES_MS[at]) ** share)


def shifts(summary: Summary, baseline: str, candidate: str) -> list[Shift]:
    """Return the difference between two arms at each quantile that is known in every pair."""
    investigation = summary.investigation
    valid, _ = paired(investigation, summary.done, investigation.session.looks[-1], baseline, candidate)
    both = []
    for number, _first, _second in valid:
        by_arm = summary.sketches.get(ScheduledPair(number, (baseline, candidate), 0).name, {})
        if baseline not in by_arm or candidate not in by_arm:
            return []
        both.append((by_arm[baseline].quantiles, by_arm[candidate].quantiles))
    result = []
    for share in GRID:
        values = [(first.get(str(share), 0.0), second.get(str(share), 0.0)) for first, second in both]
        if values and all(first > 0 and second > 0 for first, second in values):
            result.append(
                _shift(
                    share,
                    [math.log(second / first) for first, second in values],
                    alpha_per_look(investigation.session.looks),
                )
            )
    return result


def _shift(share: float, differences: Sequence[float], alpha: float) -> Shift:
    band = None
    if len(differences) >= LEAST_PAIRS:
        low, high = DescrStatsW(np.asarray(differences)).tconfint_mean(alpha)
        band = float(low), float(high)
    return Shift(share, differences, float(np.mean(differences)), band)


def percent(difference: float) -> float:
    """Convert the logarithm of a factor to a difference in percent."""
    return math.expm1(difference) * 100
