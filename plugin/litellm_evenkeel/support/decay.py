"""Exponential decay: recent events count more than old ones."""

from __future__ import annotations

import math

DECAY_SECONDS = 60.0


def decay_factor(seconds: float, time_constant: float) -> float:
    """Return what remains of 1 after `seconds`: about a third after one time constant."""
    return math.exp(-max(seconds, 0.0) / time_constant)


class DecayingCounter:
    """Number of requests in about the last minute."""

    __slots__ = ("_count", "_updated_at")

    def __init__(self) -> None:
        self._count = 0.0
        self._updated_at = -math.inf

    def add(self, now: float) -> None:
        """Count a request."""
        self._count = self.count(now) + 1.0
        self._updated_at = max(now, self._updated_at)

    def count(self, now: float) -> float:
        """Return the decayed count. A request of a minute ago counts for about a third."""
        return self._count * decay_factor(now - self._updated_at, DECAY_SECONDS) if self._count else 0.0
