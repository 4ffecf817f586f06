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
        count = self.extent.enough(self.rate, self.cv)
        gaps = random_source(seed, "gamma").gamma(1 / squared, squared / self.rate, count)
        return self.extent.cut(np.cumsum(gaps))
