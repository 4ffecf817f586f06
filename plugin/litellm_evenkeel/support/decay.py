"""How many requests there were of late: a count that fades."""

from __future__ import annotations

import math

FADES_SECONDS = 60.0


class DecayingCounter:
    """Requests of about the last minute."""

    __slots__ = ("_at", "_count")

    def __init__(self) -> None:
        self._count = 0.0
        self._at = -math.inf

    def add(self, now: float) -> None:
        """Count a request."""
        self._count = self.count(now) + 1.0
        self._at = max(now, self._at)

    def count(self, now: float) -> float:
        """Return how many there were; those of a minute ago count for about a third."""
        return self._count * math.exp(-max(now - self._at, 0.0) / FADES_SECONDS) if self._count else 0.0
