"""Margins: from where on a difference matters, fixed before anything is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """A share of the baseline (0.05 is 5 %) on the scale of factors, or a difference of shares (0.01 is one point)."""
    floor: float = 0.0
    """On the scale of factors: what never matters, in the figure's own unit, however small the baseline is."""

    def differences(self, baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
        """Return the difference within each pair: above zero where the candidate's figure is larger."""
        if self.scale is Scale.POINTS:
            return [b - a for a, b in zip(baseline, candidate, strict=True)]
        return [math.log(b / a) for a, b in zip(baseline, candidate, strict=True)]

    def width(self, baseline: Sequence[float]) -> float:
        """Return the margin on the scale of the differences."""
        if self.scale is Scale.POINTS:
            return self.size
        return math.log1p(max(self.size, self.floor / float(np.median(baseline))))

    def effect(self, difference: float) -> float:
        """Return a difference as people say it: 0.05 is 5 % more, or five points."""
        return difference if self.scale is Scale.POINTS else math.expm1(difference)
