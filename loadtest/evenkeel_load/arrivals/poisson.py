"""As many independent people would: exponential gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.arrivals.schedule import random_source

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Poisson:
    """So many a second in the mean."""

    rate: float
    extent: Extent

    def times(self, seed: int) -> Times:
        """Return when each request is due."""
        gaps = random_source(seed, "poisson").exponential(1 / self.rate, self.extent.enough(self.rate))
        return self.extent.cut(np.cumsum(gaps))
