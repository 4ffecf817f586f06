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
# Over how long it is remembered how much a client got.
REMEMBERED_SECONDS = 60.0
# Those of whom less than this was heard lately are no more.
SILENT = 0.005
# What a client may use at once of its part.
AT_ONCE_SECONDS, AT_ONCE = 1.0, 2.0
# After so many seconds what is left is shared anew.
LONGEST_SECONDS = 1.0
MOST_CLIENTS = 10_000


class RemainingCapacity:
    """What is left of all accounts, added up."""

    __slots__ = ("_left", "_seconds", "_whole")

    def __init__(self) -> None:
        self._left = self._whole = self._seconds = 0.0

    def add(self, left: float, whole: float, returns_in: float) -> None:
        """Add one that has so many requests left, of so many; the first that were used come back in so many seconds."""
        self._left += left
        self._whole += whole
        self._seconds += whole * returns_in if whole < math.inf else 0.0

    def share(self, fairness: FairShare, now: float) -> bool:
        """Share it among the clients; return whether it is so little that it should be looked at often."""
        if not 0 < self._whole < math.inf:
            fairness.share(math.inf, math.inf, 1.0, now)
            return False
        fairness.share(self._left, self._whole, max(self._seconds / self._whole, SOONEST_SECONDS), now)
        return self._left <= WATCHED * self._whole


class FairShare:
    """The clients of one group of candidates. All times are the same clock's, in seconds."""

    __slots__ = ("_clients", "is_scarce")

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}
        self.is_scarce = False
        """Whether clients are held to their parts."""

    def admission_delay(self, client: str, now: float) -> float:
        """Know that a client asks for an account; return in how many seconds it may have one, for all others need."""
        found = self._clients.get(client)
        if found is None:
            if len(self._clients) >= MOST_CLIENTS:
                self._forget_silent(now)
            found = self._clients[client] = _Client(now)
        found.wanted.add(now)
        return found.waits(now) if self.is_scarce else 0.0

    def record_pick(self, client: str, now: float) -> None:
        """Know that a client got an account."""
        found = self._clients.get(client)
        if found is not None:
            found.got.add(now)
            found.credit -= 1

    def delay(self, client: str, now: float) -> float:
        """Return the same of a client that has asked before."""
        found = self._clients.get(client) if self.is_scarce else None
        return 0.0 if found is None else found.waits(now)

    def share(self, left: float, whole: float, seconds: float, now: float) -> None:
        """Share so many requests, of so many when nothing is used, that must last for so many seconds."""
        self._forget_silent(now)
        clients = list(self._clients.values())
        rates = [client.wanted.rate(now) for client in clients]
        self.is_scarce = len(clients) > 1 and left <= LOW * whole and sum(rates) * seconds > left
        if not self.is_scarce:
            return
        # What they got of late counts: who has had more than the others waits for them.
        got = [client.got.rate(now) * REMEMBERED_SECONDS for client in clients]
        wanted = [max(had, rate * REMEMBERED_SECONDS) for had, rate in zip(got, rates, strict=True)]
        each = water_fill(wanted, sum(got) + left)
        for client, had in zip(clients, got, strict=True):
            client.part = max(each - had, 0.0) / seconds

    def _forget_silent(self, now: float) -> None:
        self._clients = {name: one for name, one in self._clients.items() if one.wanted.rate(now) > SILENT}


class _Rate:
    """How often something happens in a second, lately."""

    __slots__ = ("_at", "_each", "_fades", "_rate", "_seconds")

    def __init__(self, seconds: float, now: float) -> None:
        self._seconds, self._rate, self._at = seconds, 0.0, now
        # In less than that, what was counted does not fade enough to be reckoned anew.
        self._each, self._fades = 1 / seconds, seconds / 100

    def add(self, now: float) -> None:
        if now - self._at > self._fades:
            self._rate = self.rate(now)
            self._at = now
        self._rate += self._each

    def rate(self, now: float) -> float:
        return self._rate * math.exp(-max(now - self._at, 0.0) / self._seconds)


class _Client:
    __slots__ = ("_filled", "credit", "got", "part", "wanted")

    def __init__(self, now: float) -> None:
        self.wanted, self.got = _Rate(WATCHED_SECONDS, now), _Rate(REMEMBERED_SECONDS, now)
        self.part = math.inf
        """How many requests a second it may make while clients are held to that."""
        self.credit, self._filled = AT_ONCE, now

    def waits(self, now: float) -> float:
        most = max(AT_ONCE, self.part * AT_ONCE_SECONDS)
        gained = max(now - self._filled, 0.0) * self.part if self.part < math.inf else most
        # Who was not held to anything may have used more than it will ever be held to.
        self.credit, self._filled = min(max(self.credit, 0.0) + gained, most), now
        if self.credit >= 1:
            return 0.0
        return (1 - self.credit) / self.part if self.part > 0 else LONGEST_SECONDS


def water_fill(wanted: Iterable[float], total: float) -> float:
    """Return how much each gets at most, so that all of it is given: who wants less than that gets what it wants."""
    rising = sorted(wanted)
    for number, one in enumerate(rising):
        each = total / (len(rising) - number)
        if one >= each:
            return each
        total -= one
    return math.inf
