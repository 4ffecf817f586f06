"""Whether a server may be asked: after failures in a row it is left alone, longer each time, and asked once then."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FAILURES = 5
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
# What has failed less often is tried again soon: most troubles are short.
SHORTEST_PAUSE = 0.05
JITTER = 0.2


class Standing(StrEnum):
    """How it stands with a server."""

    CLOSED = "closed"
    """It is asked."""
    OPEN = "open"
    """It is left alone."""
    PROBING = "probing"
    """One may ask it."""


class Breaker:
    """Counts failures in a row. `random` is from 0 to 1, and keeps workers from asking all at the same time.

    `longest` is how long a server that has come back may go unnoticed.
    """

    __slots__ = ("_failures", "_longest", "_random", "asks_at")

    def __init__(self, random: Callable[[], float], longest: float = LONGEST_PAUSE) -> None:
        self._failures, self._random, self._longest = 0, random, min(longest, LONGEST_PAUSE)
        self.asks_at = -math.inf
        """When it may be asked again."""

    @property
    def is_open(self) -> bool:
        """Whether it has failed too often."""
        return self._failures >= FAILURES

    def standing(self, now: float) -> Standing:
        """Say how it stands."""
        if not self.is_open:
            return Standing.CLOSED
        return Standing.OPEN if now < self.asks_at else Standing.PROBING

    def succeeded(self) -> None:
        """Know that it has answered."""
        self._failures, self.asks_at = 0, -math.inf

    def failed(self, now: float) -> None:
        """Know that it has not."""
        self._failures += 1
        beyond = self._failures - FAILURES
        # No larger than it matters: a server may be gone for weeks.
        pause = FIRST_PAUSE * 2.0 ** min(beyond, 16) if beyond >= 0 else SHORTEST_PAUSE * 2.0 ** (self._failures - 1)
        self.asks_at = now + min(pause, self._longest) * (1 - JITTER * self._random())
