"""Poisson arrivals: exponential gaps, like those of many independent clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.arrivals.schedule import random_source

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Poisson:
    """`rate` requests per second on average."""

    rate: float
    extent: Extent

    def times(self, seed: int) -> Times:
        """Return the due times."""
        gaps = random_source(seed, "poisson").exponential(1 / self.rate, self.extent.enough(self.rate))
        return self.extent.cut(np.cumsum(gaps))
