"""A circuit breaker for the store of pins. It starts open, and only a successful probe closes it."""

from __future__ import annotations

import math

FAILURE_THRESHOLD = 3
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 30.0


class ProbedCircuitBreaker:
    """Circuit breaker that opens after `FAILURE_THRESHOLD` consecutive failures; its owner sends the probes.

    All times are of the same clock, in seconds.
    """

    __slots__ = ("_failures", "_pause", "probe_at")

    def __init__(self) -> None:
        self._failures = FAILURE_THRESHOLD
        self._pause = 0.0
        self.probe_at = -math.inf
        """Time of the next probe, while the breaker is open."""

    @property
    def is_open(self) -> bool:
        """Whether all calls are skipped, except for probes."""
        return self._failures >= FAILURE_THRESHOLD

    def record_success(self) -> None:
        """Record a call that succeeded. One that began before the breaker opened does not close it."""
        if not self.is_open:
            self._failures = 0

    def record_failure(self, now: float) -> None:
        """Record a call that failed."""
        self._failures += 1
        if self._failures == FAILURE_THRESHOLD:
            self._pause = FIRST_PAUSE_SECONDS
            self.probe_at = now + self._pause

    def record_probe(self, now: float, *, has_answered: bool) -> None:
        """Record the result of a probe. After a failed one, the pause until the next probe doubles."""
        if has_answered:
            self._failures, self._pause = 0, 0.0
            return
        self._pause = min(max(self._pause * 2, FIRST_PAUSE_SECONDS), MAX_PAUSE_SECONDS)
        self.probe_at = now + self._pause
