"""How much of a limit is left: what was used of it in its window, what its provider told, and how fast it goes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limits import Limit

# A window is counted in so many parts: what is older than the window by less than a part still counts, so that a limit
# is never exceeded, and at most a sixtieth of it is left unused.
PARTS = 60
# Over how long it is watched how fast a limit is used up; a shorter window over its own length.
WATCHED_SECONDS = 300.0
# A reset that is due is not reckoned with to the millisecond.
SOONEST_SECONDS = 1.0


class Window:
    """One limit of one account. All times are the same clock's, in seconds."""

    __slots__ = ("_at", "_known_left", "_known_until", "_parts", "_rate", "_used", "limit")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._parts: dict[int, float] = {}
        self._used = 0.0
        self._rate = 0.0
        self._at = -math.inf
        self._known_left = math.inf
        self._known_until = -math.inf

    def take(self, now: float, amount: float) -> None:
        """Count something that is being used; less than nothing gives back what an estimate had too much."""
        self._forget(now)
        part = self._part(now)
        self._parts[part] = self._parts.get(part, 0.0) + amount
        self._used += amount
        self._known_left -= amount
        watched = min(self.limit.seconds, WATCHED_SECONDS)
        self._rate = self.rate(now) + amount / watched
        self._at = max(now, self._at)

    def give_back(self, at: float, now: float, amount: float) -> None:
        """Take back what was counted at a moment: it has left the window if that moment has."""
        self._forget(now)
        part = self._part(at)
        if part in self._parts:
            self._parts[part] -= amount
            self._used -= amount
        self._known_left += amount

    def learn(self, now: float, left: float, resets_in: float) -> None:
        """Believe what the provider has said of it."""
        self._known_left, self._known_until = max(left, 0.0), now + resets_in

    def left(self, now: float) -> float:
        """Return how much may be used now."""
        self._forget(now)
        own = self.limit.amount - self._used
        return min(own, self._known_left) if now < self._known_until else own

    def resets_in(self, now: float) -> float:
        """Return in how many seconds what is used now will no longer count."""
        return max(self._known_until - now, SOONEST_SECONDS) if now < self._known_until else self.limit.seconds

    def fits_in(self, now: float, amount: float) -> float:
        """Return in how many seconds so much may be used; infinite if it never may."""
        if amount > self.limit.amount:
            return math.inf
        told = self._known_until - now if now < self._known_until and self._known_left < amount else 0.0
        self._forget(now)
        over = self._used + amount - self.limit.amount
        for part, used in self._parts.items():
            if over <= 0:
                break
            over -= used
            told = max(told, (part + PARTS + 1) * self._width - now)
        return told

    def rate(self, now: float) -> float:
        """Return how much of it is used in a second, lately."""
        watched = min(self.limit.seconds, WATCHED_SECONDS)
        return self._rate * math.exp(-max(now - self._at, 0.0) / watched)

    def runs_out_in(self, now: float) -> float:
        """Return in how many seconds it will be used up, if things go on as they do; infinite if it resets before."""
        rate = self.rate(now)
        if rate <= 0:
            return math.inf
        found = max(self.left(now), 0.0) / rate
        # A rolling window gives back what was used: it runs out only if more than its limit would be used in it.
        steady = now >= self._known_until and rate * self.limit.seconds <= self.limit.amount
        return math.inf if steady or found >= self.resets_in(now) else found

    @property
    def _width(self) -> float:
        return self.limit.seconds / PARTS

    def _part(self, now: float) -> int:
        return math.floor(now / self._width)

    def _forget(self, now: float) -> None:
        oldest = self._part(now) - PARTS
        while self._parts:
            part = next(iter(self._parts))
            if part >= oldest:
                return
            self._used -= self._parts.pop(part)
        # Sums of fractions do not come back to nothing by themselves.
        self._used = 0.0
