"""Slope of a metric over time, with an interval that allows for values that depend on their predecessors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = 12
LEVEL = 0.95
MIN_VALUES = 2 * BLOCKS


@dataclass(frozen=True)
class Trend:
    """Slope of a metric for each unit of time."""

    slope: float
    low: float
    high: float

    @property
    def is_rising(self) -> bool:
        """Whether the metric surely rises."""
        return self.low > 0


def trend(times: Sequence[float], values: Sequence[float]) -> Trend | None:
    """Return the slope of `values`, or `None` if there are too few of them.

    The line is fitted to the means of consecutive blocks. Neighbouring values depend on each other, as a garbage
    collection or a fault changes several of them; means of long blocks hardly do.
    """
    if len(values) < MIN_VALUES:
        return None
    order = np.argsort(np.asarray(times))
    moments = [block.mean() for block in np.array_split(np.asarray(times, dtype=float)[order], BLOCKS)]
    means = [block.mean() for block in np.array_split(np.asarray(values, dtype=float)[order], BLOCKS)]
    fit = stats.linregress(moments, means)
    margin = float(stats.t.ppf((1 + LEVEL) / 2, BLOCKS - 2)) * float(fit.stderr)
    return Trend(float(fit.slope), float(fit.slope) - margin, float(fit.slope) + margin)
