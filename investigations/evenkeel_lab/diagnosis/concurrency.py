"""How many requests were somewhere at once, and whether they were slower for it.

Little's law ties what is seen to what is felt: as many are inside as arrive in a second times the seconds they stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.requests import Numbers

# The emptiest third is set against the fullest; with fewer requests in each, a median is an accident.
LEAST = 20
# They have to differ for a comparison to say anything: twice as many, and at least one more.
WIDER, MORE = 2.0, 1.0


def in_flight(starts: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """Return how many were between their start and their end, in the mean of each period between two edges."""
    inside = np.diff(_area(starts, edges)) - np.diff(_area(ends, edges))
    return np.asarray(inside / np.diff(edges), dtype=np.float64)


def met(starts: Numbers, ends: Numbers, at: Numbers) -> Numbers:
    """Return how many were inside already at each of some moments."""
    entered = np.searchsorted(np.sort(starts), at, side="left")
    left = np.searchsorted(np.sort(ends), at, side="right")
    # One that left the moment it came was never there.
    return np.asarray(np.maximum(entered - left, 0), dtype=np.float64)


@dataclass(frozen=True)
class Growth:
    """How much longer those took that met many others than those that met few."""

    few: float
    """So many others were met by the third that met the fewest, in the mean."""
    many: float
    quick: float
    """What that third took, in the median."""
    slow: float
    rank: float
    """Spearman's correlation over all of them."""

    @property
    def ratio(self) -> float:
        """By what factor."""
        return self.slow / self.quick if self.quick > 0 else 1.0


def growth(others: Numbers, took: Numbers) -> Growth | None:
    """Compare; None if there are too few, or they all met about as many."""
    if len(others) < 3 * LEAST:
        return None
    low, high = np.quantile(others, [1 / 3, 2 / 3])
    first, last = others <= low, others >= high
    few, many = float(others[first].mean()), float(others[last].mean())
    if many < WIDER * few or many - few < MORE:
        return None
    quick, slow = float(np.median(took[first])), float(np.median(took[last]))
    return Growth(few, many, quick, slow, float(np.corrcoef(rankdata(others), rankdata(took))[0, 1]))


def _area(moments: Numbers, at: Numbers) -> Numbers:
    """Return the sum of the times that have passed since each moment."""
    moments = np.sort(moments)
    sums = np.concatenate([[0.0], np.cumsum(moments)])
    index = np.searchsorted(moments, at, side="right")
    return np.asarray(index * at - sums[index], dtype=np.float64)
