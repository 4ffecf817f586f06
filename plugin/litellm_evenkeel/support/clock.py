"""The time of day, for whoever waits, or asks which of two words is the newer one: it never goes backwards.

When a system's clock is set back by an hour, what was known would be news from the future for an hour, and whoever
waits until a moment would wait an hour longer.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Clocks that are kept right by slewing them are behind by less.
SLACK_SECONDS = 1.0


class MonotonicWallClock:
    """Seconds since 1970, as the system says; set back, it goes on from where it was until that is there again."""

    __slots__ = ("_ahead", "_monotonic", "_then", "_wall")

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._ahead = 0.0
        self._then = monotonic() - wall()

    def __call__(self) -> float:
        """Return the time."""
        wall, monotonic = self._wall(), self._monotonic()
        # How far the system's clock was set since the last time: what one of the two has gone on, and not the other.
        stepped = self._then - (monotonic - wall)
        self._then = monotonic - wall
        if abs(stepped) > SLACK_SECONDS:
            self._ahead = max(0.0, self._ahead - stepped)
        return wall + self._ahead


now = MonotonicWallClock()
"""That of this process."""
