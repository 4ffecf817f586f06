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


class BreakerState(StrEnum):
    """How it stands with a server."""

    CLOSED = "closed"
    """It is asked."""
    OPEN = "open"
    """It is left alone."""
    HALF_OPEN = "probing"
    """One may ask it."""


class CircuitBreaker:
    """Counts failures in a row. `random` is from 0 to 1, and keeps workers from asking all at the same time.

    `longest` is how long a server that has come back may go unnoticed.
    """

    __slots__ = ("_failures", "_longest", "_random", "retry_at")

    def __init__(self, random: Callable[[], float], longest: float = LONGEST_PAUSE) -> None:
        self._failures, self._random, self._longest = 0, random, min(longest, LONGEST_PAUSE)
        self.retry_at = -math.inf
        """When it may be asked again."""

    @property
    def is_open(self) -> bool:
        """Whether it has failed too often."""
        return self._failures >= FAILURES

    def state(self, now: float) -> BreakerState:
        """Say how it stands."""
        if not self.is_open:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self.retry_at else BreakerState.HALF_OPEN

    def record_success(self) -> None:
        """Know that it has answered."""
        self._failures, self.retry_at = 0, -math.inf

    def record_failure(self, now: float) -> None:
        """Know that it has not."""
        self._failures += 1
        beyond = self._failures - FAILURES
        # No larger than it matters: a server may be gone for weeks.
        pause = FIRST_PAUSE * 2.0 ** min(beyond, 16) if beyond >= 0 else SHORTEST_PAUSE * 2.0 ** (self._failures - 1)
        self.retry_at = now + min(pause, self._longest) * (1 - JITTER * self._random())
