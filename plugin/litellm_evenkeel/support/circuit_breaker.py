"""A circuit breaker with exponential back-off, for servers that are called often."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FAILURE_THRESHOLD = 5
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 30.0
# Below the threshold, the next call follows soon, as most outages are short.
MIN_PAUSE_SECONDS = 0.05
JITTER = 0.2
# Keeps the power of two finite: a server may be away for weeks.
MAX_DOUBLINGS = 16


class BreakerState(StrEnum):
    """State of a circuit breaker."""

    CLOSED = "closed"
    """Calls pass."""
    OPEN = "open"
    """Calls are skipped."""
    HALF_OPEN = "half_open"
    """One call may pass."""


class CircuitBreaker:
    """Circuit breaker that opens after `failure_threshold` consecutive failures.

    `random` returns a number from 0 to 1; it spreads the retries of several workers over time. `max_pause` is the
    longest time, in seconds, for which a server that is back may go unnoticed. With `starts_open`, the breaker skips
    all calls until the first probe has succeeded.
    """

    __slots__ = ("_failure_threshold", "_failures", "_max_pause", "_random", "retry_at")

    def __init__(
        self,
        random: Callable[[], float],
        *,
        failure_threshold: int = FAILURE_THRESHOLD,
        max_pause: float = MAX_PAUSE_SECONDS,
        starts_open: bool = False,
    ) -> None:
        self._random, self._failure_threshold = random, failure_threshold
        self._max_pause = min(max_pause, MAX_PAUSE_SECONDS)
        self._failures = failure_threshold if starts_open else 0
        self.retry_at = -math.inf
        """Time of the next permitted call; `-inf` after a success."""

    @property
    def is_open(self) -> bool:
        """Whether the number of consecutive failures has reached the threshold."""
        return self._failures >= self._failure_threshold

    def state(self, now: float) -> BreakerState:
        """Return the state at `now`."""
        if not self.is_open:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self.retry_at else BreakerState.HALF_OPEN

    def record_success(self, now: float) -> None:
        """Record a call that succeeded, and close the breaker, unless the call began before it opened."""
        if self.state(now) is not BreakerState.OPEN:
            self._failures, self.retry_at = 0, -math.inf

    def record_failure(self, now: float) -> None:
        """Record a call that failed, and set the time of the next one, unless the call began before it opened."""
        if self.state(now) is BreakerState.OPEN:
            return
        self._failures += 1
        beyond = self._failures - self._failure_threshold
        if beyond >= 0:
            pause = FIRST_PAUSE_SECONDS * 2.0 ** min(beyond, MAX_DOUBLINGS)
        else:
            pause = MIN_PAUSE_SECONDS * 2.0 ** (self._failures - 1)
        self.retry_at = now + min(pause, self._max_pause) * (1 - JITTER * self._random())
