"""Time of a search, which its comparisons share."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_SECONDS = 1.0


@dataclass
class Budget:
    """Seconds of a search."""

    seconds: float
    used: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether more time was used than there was."""
        return self.used > self.seconds

    @contextmanager
    def share(self, comparisons: int) -> Iterator[float]:
        """Yield the seconds of one comparison, if `comparisons` are left. Count the time of the block as used."""
        began = time.monotonic()
        try:
            yield max((self.seconds - self.used) / comparisons, LEAST_SECONDS)
        finally:
            self.used += time.monotonic() - began
