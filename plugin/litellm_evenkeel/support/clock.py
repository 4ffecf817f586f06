"""Clocks that never go backwards.

`now` follows the system's clock, for deadlines that are stored and for comparing the ages of readings. `unstepped` only
measures how much time passes, for quota windows and cooldowns.

If the system's clock is set back by an hour, readings taken before would look like readings from the future for an
hour, and a deadline would be reached an hour late.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Clocks that a time daemon slews deviate by less than this; a larger step means that the clock was set.
SLACK_SECONDS = 1.0


class MonotonicWallClock:
    """Seconds since 1970 by the system's clock. After a step back it goes on from the last value, at normal speed.

    It returns to the system's clock when that is set forward again.
    """

    __slots__ = ("_ahead", "_monotonic", "_offset", "_wall")

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._ahead = 0.0
        self._offset = monotonic() - wall()

    def __call__(self) -> float:
        """Return the time."""
        wall, monotonic = self._wall(), self._monotonic()
        # How far the system's clock was set since the last call: the difference by which the two clocks advanced.
        stepped = self._offset - (monotonic - wall)
        self._offset = monotonic - wall
        if abs(stepped) > SLACK_SECONDS:
            self._ahead = max(0.0, self._ahead - stepped)
        return wall + self._ahead


now = MonotonicWallClock()
"""The time by the system's clock, in seconds since 1970."""

_OFFSET = time.time() - time.monotonic()


def unstepped() -> float:
    """Return seconds since 1970 by the clock as it was set when this process began.

    If the clock is set forward later, no quota window is released early, and no cooldown ends early.
    """
    return _OFFSET + time.monotonic()
