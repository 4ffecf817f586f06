"""One request after another, at equal distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Constant:
    """So many a second."""

    rate: float
    extent: Extent

    def times(self, _seed: int) -> Times:
        """Return when each request is due."""
        return self.extent.cut(np.arange(self.extent.enough(self.rate)) / self.rate)
