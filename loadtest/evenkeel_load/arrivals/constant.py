"""Constant arrivals: requests at equal intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Constant:
    """`rate` requests per second, at equal intervals."""

    rate: float
    extent: Extent

    def times(self, _seed: int) -> Times:
        """Return the due times."""
        return self.extent.cut(np.arange(self.extent.enough(self.rate)) / self.rate)
