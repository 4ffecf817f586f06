"""Latency of a deployment: a moving average that jumps to each new peak at once and decays slowly."""

from __future__ import annotations

from dataclasses import dataclass

from litellm_evenkeel.support.decay import decay_factor

# Time constant of the decay.
DECAY_SECONDS = 10.0
# An older latency says nothing about the latency now.
RECENT_SECONDS = 60.0


@dataclass(slots=True, eq=False)
class PeakEwma:
    """Peak-sensitive exponentially weighted moving average, in seconds."""

    seconds: float = 0.0
    """Value at the last observation; 0 before the first."""
    _observed_at: float = 0.0

    def current(self, now: float) -> float:
        """Return the value, decayed since the last observation, so that a slow account is tried again."""
        return self.seconds * decay_factor(now - self._observed_at, DECAY_SECONDS)

    def recent(self, now: float) -> float | None:
        """Return the value if it is recent, else `None`: an account without traffic gets no newer value."""
        return self.seconds if self._observed_at and now < self._observed_at + RECENT_SECONDS else None

    def observe(self, now: float, seconds: float) -> None:
        """Record the latency of one response."""
        if seconds >= self.seconds:
            self.seconds = seconds
        else:
            kept = decay_factor(now - self._observed_at, DECAY_SECONDS)
            self.seconds = self.seconds * kept + seconds * (1 - kept)
        self._observed_at = now
