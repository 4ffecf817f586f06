"""Equivalence margins: the smallest difference that matters, fixed before anything is measured."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = math.log(sys.float_info.max)


class Scale(StrEnum):
    """Scales on which the two values of a pair are compared."""

    FACTOR = "factor"
    """Their quotient: for latencies, throughput and CPU per request."""
    POINTS = "points"
    """Their difference: for shares, which may be zero."""


@dataclass(frozen=True)
class Margin:
    """The largest difference of a metric that does not matter."""

    scale: Scale
    size: float
    """On the scale of factors a share of the smaller value (0.05 is 5 %), else points (0.01 is one)."""
    floor: float = 0.0
    """On the scale of factors: a difference in the unit of the metric that never matters, even of small values."""

    def differences(self, baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
        """Return the difference within each pair: above zero where the candidate's value is larger."""
        if self.scale is Scale.POINTS:
            return [b - a for a, b in zip(baseline, candidate, strict=True)]
        # The quotient can overflow where its logarithm does not.
        return [math.log(b) - math.log(a) for a, b in zip(baseline, candidate, strict=True)]

    def width(self, baseline: Sequence[float], candidate: Sequence[float]) -> float:
        """Return the margin on the scale of the differences, the same whichever arm is the baseline.

        It is `inf` if there is a floor and the smaller median is zero: the floor is no share of zero.
        """
        if self.scale is Scale.POINTS:
            return self.size
        usual = math.log1p(self.size)
        if not self.floor:
            return usual
        # Two values differ by the floor if the larger is 1 + floor / smaller times the smaller.
        smaller = min(median(baseline), median(candidate))
        if smaller <= 0:
            return math.inf
        return max(usual, float(np.logaddexp(0.0, math.log(self.floor) - math.log(smaller))))

    def effect(self, difference: float) -> float:
        """Return `difference` as a share or in points: 0.05 is 5 % more, or five points."""
        if self.scale is Scale.POINTS:
            return difference
        return math.expm1(difference) if difference < LARGEST else math.inf
