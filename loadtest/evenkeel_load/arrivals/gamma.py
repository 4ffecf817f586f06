"""Gamma arrivals: gaps with a given coefficient of variation; 1 is Poisson, 4 is bursty, below 1 is regular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.arrivals.schedule import random_source

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Gamma:
    """`rate` requests per second on average, with gaps of the coefficient of variation `cv`."""

    rate: float
    cv: float
    extent: Extent

    def times(self, seed: int) -> Times:
        """Return the due times."""
        squared = self.cv**2
        shape, scale = 1 / squared, squared / self.rate
        source = random_source(seed, "gamma")
        gaps = source.gamma(shape, scale, self.extent.enough(self.rate, self.cv))
        # The start of a load is within a gap, more likely within a long one (inspection paradox). This is its rest.
        gaps[:1] = source.uniform() * source.gamma(shape + 1, scale)
        return self.extent.cut(np.cumsum(gaps))
