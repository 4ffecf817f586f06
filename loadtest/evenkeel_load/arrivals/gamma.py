"""In bursts: gaps whose coefficient of variation is given; 1 is Poisson, 4 is bursty, below 1 is orderly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.arrivals.schedule import random_source

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Gamma:
    """So many a second in the mean, with gaps of that coefficient of variation."""

    rate: float
    cv: float
    extent: Extent

    def times(self, seed: int) -> Times:
        """Return when each request is due."""
        squared = self.cv**2
        shape, scale = 1 / squared, squared / self.rate
        source = random_source(seed, "gamma")
        gaps = source.gamma(shape, scale, self.extent.enough(self.rate, self.cv))
        # Whoever begins to look does so within a gap, and more likely within a long one: so much of it is left.
        gaps[:1] = source.uniform() * source.gamma(shape + 1, scale)
        return self.extent.cut(np.cumsum(gaps))
