"""Margins: from where on a difference matters, fixed before anything is measured."""

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
    """How two figures of a pair are compared."""

    FACTOR = "factor"
    """As a factor: latencies, throughput, CPU per request."""
    POINTS = "points"
    """By their difference: shares, which may be zero."""


@dataclass(frozen=True)
class Margin:
    """How much a figure may differ without it mattering."""

    scale: Scale
    size: float
    """A share of the smaller figure (0.05 is 5 %) on the scale of factors, or of shares in points (0.01 is one)."""
    floor: float = 0.0
    """On the scale of factors: what never matters, in the figure's own unit, however small a figure is."""

    def differences(self, baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
        """Return the difference within each pair: above zero where the candidate's figure is larger."""
        if self.scale is Scale.POINTS:
            return [b - a for a, b in zip(baseline, candidate, strict=True)]
        # A quotient may be too large for a number where its logarithm is not.
        return [math.log(b) - math.log(a) for a, b in zip(baseline, candidate, strict=True)]

    def width(self, baseline: Sequence[float], candidate: Sequence[float]) -> float:
        """Return the margin on the scale of the differences, the same whichever arm is the baseline.

        It is infinite where a floor stands beside a figure of zero, of which it is no share.
        """
        if self.scale is Scale.POINTS:
            return self.size
        usual = math.log1p(self.size)
        if not self.floor:
            return usual
        # Two figures are as far apart as the floor when the larger is 1 + floor / smaller times the other.
        smaller = min(median(baseline), median(candidate))
        if smaller <= 0:
            return math.inf
        return max(usual, float(np.logaddexp(0.0, math.log(self.floor) - math.log(smaller))))

    def effect(self, difference: float) -> float:
        """Return a difference as people say it: 0.05 is 5 % more, or five points."""
        if self.scale is Scale.POINTS:
            return difference
        return math.expm1(difference) if difference < LARGEST else math.inf
