"""Whether a server may be asked: not before it has answered once, and not after failures in a row until a probe has."""

from __future__ import annotations

import math

FAILURES = 3
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


class Breaker:
    """Open until a probe succeeds. Whose probe that is, is not its business. All times are the same clock's."""

    __slots__ = ("_failures", "_pause", "probe_at")

    def __init__(self) -> None:
        self._failures = FAILURES
        self._pause = 0.0
        self.probe_at = -math.inf

    @property
    def is_open(self) -> bool:
        """Whether the server is left alone, but for probes."""
        return self._failures >= FAILURES

    def succeeded(self) -> None:
        """Know that the server has answered. What had been asked before it was left alone changes nothing."""
        if not self.is_open:
            self._failures = 0

    def failed(self, now: float) -> None:
        """Know that it has not."""
        self._failures += 1
        if self._failures == FAILURES:
            self._pause = FIRST_PAUSE
            self.probe_at = now + self._pause

    def probed(self, now: float, *, has_answered: bool) -> None:
        """Know what a probe has found; the next one waits twice as long as the last."""
        if has_answered:
            self._failures, self._pause = 0, 0.0
            return
        self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        self.probe_at = now + self._pause
