"""Exponential decay: recent events count more than old ones."""

from __future__ import annotations

import math

# Events within this share of a time constant count as simultaneous: `exp` would take most of the time of `add`.
NEGLIGIBLE_SHARE = 0.01


def decay_factor(seconds: float, time_constant: float) -> float:
    """Return what remains of 1 after `seconds`: about a third after one time constant."""
    return math.exp(-max(seconds, 0.0) / time_constant)


class DecayingCounter:
    """Number of events in about the last `time_constant` seconds."""

    __slots__ = ("_count", "_time_constant", "_updated_at")

    def __init__(self, time_constant: float) -> None:
        self._time_constant = time_constant
        self._count = 0.0
        self._updated_at = -math.inf

    def add(self, now: float) -> None:
        """Count an event."""
        if now - self._updated_at > self._time_constant * NEGLIGIBLE_SHARE:
            self._count = self.count(now)
            self._updated_at = now
        self._count += 1.0

    def count(self, now: float) -> float:
        """Return the decayed count. An event of one time constant ago counts for about a third."""
        return self._count * decay_factor(now - self._updated_at, self._time_constant) if self._count else 0.0
