"""Who gets how much of what is left, when less is left than is asked for.

As long as there is plenty, nobody is asked to wait. When what is left of all accounts runs low, and would run out
before anything of it comes back, it is shared: whoever asks for less than an equal part gets all of it, the others
share the rest equally. So one client that asks for much does not use up what all the others would have needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# What is left is low from this share of the whole on.
LOW = 0.25
# Where so much is left, it is looked at often.
WATCHED = 0.5
# For how long what is left is shared at least.
SOONEST_SECONDS = 0.1
# Over how long it is watched how much a client asks for.
WATCHED_SECONDS = 20.0
# Those of whom less than this was heard lately are no more.
SILENT = 0.005
# What a client may use at once of its part.
AT_ONCE_SECONDS, AT_ONCE = 1.0, 2.0
MOST_CLIENTS = 10_000


class Stock:
    """What is left of all accounts, added up."""

    __slots__ = ("_left", "_seconds", "_whole")

    def __init__(self) -> None:
        self._left = self._whole = self._seconds = 0.0

    def add(self, left: float, whole: float, returns_in: float) -> None:
        """Add one that has so many requests left, of so many; the first that were used come back in so many seconds."""
        self._left += left
        self._whole += whole
        self._seconds += whole * returns_in if whole < math.inf else 0.0

    def share(self, fairness: Fairness, now: float) -> bool:
        """Share it among the clients; return whether it is so little that it should be looked at often."""
        if not 0 < self._whole < math.inf:
            fairness.share(math.inf, math.inf, 1.0, now)
            return False
        fairness.share(self._left, self._whole, max(self._seconds / self._whole, SOONEST_SECONDS), now)
        return self._left <= WATCHED * self._whole


class Fairness:
    """The clients of one group of candidates. All times are the same clock's, in seconds."""

    __slots__ = ("_clients", "is_scarce", "part")

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}
        self.is_scarce = False
        """Whether anybody is held to a part."""
        self.part = math.inf
        """How many requests a second a client may make while it is so."""

    def asked(self, client: str, now: float) -> None:
        """Know that a client asks for an account, whether it gets one or not."""
        found = self._clients.get(client)
        if found is None:
            if len(self._clients) >= MOST_CLIENTS:
                self._forget_silent(now)
            found = self._clients[client] = _Client(now)
        found.asked(now)

    def may(self, client: str, now: float) -> bool:
        """Return whether a client is within its part; `used` tells that it went on."""
        if not self.is_scarce:
            return True
        found = self._clients.get(client)
        return found is None or found.credit(self.part, now) >= 1

    def used(self, client: str) -> None:
        """Know that a client got an account."""
        if self.is_scarce:
            found = self._clients.get(client)
            if found is not None:
                found.left -= 1

    def share(self, left: float, whole: float, seconds: float, now: float) -> None:
        """Share so many requests, of so many when nothing is used, that must last for so many seconds."""
        self._forget_silent(now)
        rates = [client.rate(now) for client in self._clients.values()]
        is_low = left <= LOW * whole and sum(rates) * seconds > left
        if not is_low or len(rates) < 2:  # noqa: PLR2004 - one client alone has nobody to leave anything to
            self.is_scarce, self.part = False, math.inf
            return
        self.is_scarce, self.part = True, level(rates, left / seconds)

    def _forget_silent(self, now: float) -> None:
        self._clients = {name: one for name, one in self._clients.items() if one.rate(now) > SILENT}


class _Client:
    __slots__ = ("_at", "_rate", "_refilled", "left")

    def __init__(self, now: float) -> None:
        self._rate, self._at = 0.0, now
        self.left, self._refilled = AT_ONCE, now

    def asked(self, now: float) -> None:
        self._rate = self.rate(now) + 1 / WATCHED_SECONDS
        self._at = now

    def rate(self, now: float) -> float:
        return self._rate * math.exp(-max(now - self._at, 0.0) / WATCHED_SECONDS)

    def credit(self, part: float, now: float) -> float:
        most = max(AT_ONCE, part * AT_ONCE_SECONDS)
        self.left = min(self.left + max(now - self._refilled, 0.0) * part, most)
        self._refilled = now
        return self.left


def level(wanted: Iterable[float], total: float) -> float:
    """Return how much each gets at most, so that all of it is given: who wants less than that gets what it wants."""
    rising = sorted(wanted)
    for number, one in enumerate(rising):
        each = total / (len(rising) - number)
        if one >= each:
            return each
        total -= one
    return math.inf
