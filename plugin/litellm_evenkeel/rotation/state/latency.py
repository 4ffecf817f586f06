"""How long an account takes, lately: jumps to each new peak at once, and comes down from it slowly."""

from __future__ import annotations

import math

MEMORY_SECONDS = 10.0
FRESH_SECONDS = 60.0


class PeakEwma:
    """A peak-sensitive moving average, in seconds."""

    __slots__ = ("_at", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        """0 as long as nothing is known."""
        self._at = 0.0

    def current(self, now: float) -> float:
        """Return it as of now: what has been heard of long ago counts for less, so that it is tried again."""
        return self.seconds * math.exp(-max(now - self._at, 0.0) / MEMORY_SECONDS)

    def recent(self, now: float) -> float | None:
        """Return it if it was heard of lately; who is left alone gets no newer figure."""
        return self.seconds if self._at and now < self._at + FRESH_SECONDS else None

    def observe(self, now: float, seconds: float) -> None:
        """Know of one answer."""
        if seconds >= self.seconds:
            self.seconds = seconds
        else:
            kept = math.exp(-max(now - self._at, 0.0) / MEMORY_SECONDS)
            self.seconds = self.seconds * kept + seconds * (1 - kept)
        self._at = now
