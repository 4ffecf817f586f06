"""Whether a server may be asked: not before it has answered once, and not after failures in a row until a probe has."""

from __future__ import annotations

import math

FAILURE_THRESHOLD = 3
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 30.0


class ProbedCircuitBreaker:
    """Open until a probe succeeds. Whose probe that is, is not its business. All times are the same clock's."""

    __slots__ = ("_failures", "_pause", "probe_at")

    def __init__(self) -> None:
        self._failures = FAILURE_THRESHOLD
        self._pause = 0.0
        self.probe_at = -math.inf

    @property
    def is_open(self) -> bool:
        """Whether the server is left alone, but for probes."""
        return self._failures >= FAILURE_THRESHOLD

    def record_success(self) -> None:
        """Know that the server has answered. What had been asked before it was left alone changes nothing."""
        if not self.is_open:
            self._failures = 0

    def record_failure(self, now: float) -> None:
        """Know that it has not."""
        self._failures += 1
        if self._failures == FAILURE_THRESHOLD:
            self._pause = FIRST_PAUSE_SECONDS
            self.probe_at = now + self._pause

    def record_probe(self, now: float, *, has_answered: bool) -> None:
        """Know what a probe has found; the next one waits twice as long as the last."""
        if has_answered:
            self._failures, self._pause = 0, 0.0
            return
        self._pause = min(max(self._pause * 2, FIRST_PAUSE_SECONDS), MAX_PAUSE_SECONDS)
        self.probe_at = now + self._pause
