"""Ramp arrivals: the rate grows linearly, to find the saturation point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Ramp:
    """A rate that changes linearly from `first` to `last` requests per second."""

    first: float
    last: float
    extent: Extent

    def times(self, _seed: int) -> Times:
        """Return the due times: where the integral of the rate passes whole numbers."""
        seconds = self.extent.seconds
        assert seconds is not None
        slope = (self.last - self.first) / seconds
        count = self.extent.possible(int((self.first + self.last) / 2 * seconds))
        numbers = np.arange(count, dtype=np.float64)
        if not slope:
            return numbers / self.first
        return (np.sqrt(self.first**2 + 2 * slope * numbers) - self.first) / slope
