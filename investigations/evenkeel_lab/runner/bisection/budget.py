"""Time of a search, which its comparisons share."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Servers start before the time of a session begins, and end after it.
RESERVE_SECONDS = 30.0


@dataclass
class Budget:
    """Seconds of a search."""

    seconds: float
    least: float
    """Seconds of a comparison that reaches a verdict."""
    used: float = 0.0

    @contextmanager
    def share(self, comparisons: int) -> Iterator[float]:
        """Yield the seconds of one comparison, if `comparisons` are left; 0 if there is no time for another one.

        The time of the block counts as used.
        """
        began = time.monotonic()
        left = self.seconds - self.used
        share = max(left / comparisons - RESERVE_SECONDS, self.least)
        try:
            yield share if share + RESERVE_SECONDS <= left else 0.0
        finally:
            self.used += time.monotonic() - began
