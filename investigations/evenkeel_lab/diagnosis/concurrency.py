"""Number of concurrent requests in a part of the way, and whether concurrency made them slower.

Little's law: mean number inside = arrivals per second * mean seconds inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.requests import Numbers

# The third of requests with the least concurrency is compared with the third with the most. With fewer requests than
# this in a third, its median is chance.
MIN_PER_THIRD = 20
# The two thirds are compared only if their concurrency differs by this factor and by this number.
MIN_RATIO, MIN_EXCESS = 2.0, 1.0


def in_flight(starts: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """Return the mean number of requests between `starts` and `ends`, for each period between two `edges`."""
    inside = np.diff(_area(starts, edges)) - np.diff(_area(ends, edges))
    return np.asarray(inside / np.diff(edges), dtype=np.float64)


def concurrent_at(starts: Numbers, ends: Numbers, at: Numbers) -> Numbers:
    """Return the number of requests that began before, and had not ended, at each moment of `at`."""
    entered = np.searchsorted(np.sort(starts), at, side="left")
    left = np.searchsorted(np.sort(ends), at, side="right")
    # A request that ends when it begins makes the difference negative at that moment.
    return np.asarray(np.maximum(entered - left, 0), dtype=np.float64)


@dataclass(frozen=True)
class Slowdown:
    """Slowdown of requests with many concurrent requests, relative to requests with few."""

    few: float
    """Mean concurrency of the third with the least."""
    many: float
    """Mean concurrency of the third with the most."""
    quick: float
    """Median time of the third with the least concurrency."""
    slow: float
    """Median time of the third with the most concurrency."""
    rank: float
    """Spearman's correlation of concurrency and time, over all requests."""

    @property
    def ratio(self) -> float:
        """Factor between the two medians."""
        return self.slow / self.quick if self.quick > 0 else 1.0


def measure_slowdown(concurrent: Numbers, took: Numbers) -> Slowdown | None:
    """Compare requests by their concurrency. Return `None` if they are too few, or all had about the same."""
    if len(concurrent) < 3 * MIN_PER_THIRD:
        return None
    low, high = np.quantile(concurrent, [1 / 3, 2 / 3])
    first, last = concurrent <= low, concurrent >= high
    few, many = float(concurrent[first].mean()), float(concurrent[last].mean())
    if many < MIN_RATIO * few or many - few < MIN_EXCESS:
        return None
    quick, slow = float(np.median(took[first])), float(np.median(took[last]))
    return Slowdown(few, many, quick, slow, float(np.corrcoef(rankdata(concurrent), rankdata(took))[0, 1]))


def _area(moments: Numbers, at: Numbers) -> Numbers:
    """Return, for each time in `at`, the sum of the times since all earlier `moments`."""
    moments = np.sort(moments)
    sums = np.concatenate([[0.0], np.cumsum(moments)])
    index = np.searchsorted(moments, at, side="right")
    return np.asarray(index * at - sums[index], dtype=np.float64)
