"""One set of candidates for one model: their places in order, the snapshot selection reads, and a strategy's memory."""

from __future__ import annotations

import math
from copy import copy
from statistics import median_low
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.fairness import Fairness, Stock
from litellm_evenkeel.rotation.need import Need
from litellm_evenkeel.rotation.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.bars import Bar
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.strategies import Strategy

# After so many candidates, a rebuild lets others have the thread.
SLICE = 256
# A candidate's weight has changed if it is this many times what it was, or less than one in so many.
CHANGED = 1.5
# What openings are weighed with: one request of a usual size.
USUAL = Need(1.0, 1000.0)
# A limit that comes back bit by bit would wake the group at each bit.
SOONEST = 0.05
# So many that were freed, and are too small for some, are looked at again for each of those.
MOST_FREED = 32
# For so long a full group is not looked at wholly while nothing tells that anything of it is free.
REST_SECONDS, REST_SECONDS_EACH = 1.0, 2e-4
# How long a snapshot is good at most while little is left; longer where there are many candidates.
LOW_SECONDS, LOW_SECONDS_EACH = 0.5, 1e-4


class Group:
    """Candidates. All times are the same clock's, in seconds."""

    __slots__ = (
        "_standing",
        "at_account",
        "dirty",
        "fairness",
        "freed",
        "full",
        "full_tokens",
        "full_until",
        "is_left",
        "is_low",
        "is_refreshing",
        "median_latency",
        "name",
        "patched",
        "places",
        "snapshot",
        "strategy",
    )

    def __init__(self, name: str, places: Sequence[Place], strategy: Strategy, now: float) -> None:
        self.name, self.places, self.strategy = name, tuple(places), strategy
        self.dirty: set[int] = set()
        """Candidates of which something has changed since the snapshot."""
        self.is_refreshing = False
        self.is_low = False
        """Whether so little is left that it is looked at more often."""
        self.is_left = False
        """Whether it is a set of candidates no more, so that it hears of nothing."""
        self.median_latency: float | None = None
        """Of those that have answered lately, when all were looked at last."""
        self.patched = -math.inf
        self.full: Bar | None = None
        """What stands before the candidate that opens first, when all were found shut."""
        self.full_until = -math.inf
        self.full_tokens = 0.0
        self.freed: set[int] = set()
        """Candidates at which something has happened since then, and that were not found shut again."""
        self.fairness = Fairness()
        self.at_account: dict[str, list[int]] = {}
        self._standing: dict[int, list[int]] = {}
        for position, place in enumerate(self.places):
            place.groups.append((self, position))
            self.at_account.setdefault(place.seat.account, []).append(position)
            self._standing.setdefault(place.seat.priority, []).append(position)
        self.snapshot = Snapshot(-math.inf, (), (), (), -math.inf)
        for _ in self.refreshing(now):
            pass

    def twin(self, random: Callable[[], float]) -> Group:
        """Return one of the same state, to try things with: nothing that is done to it is done to this one."""
        found = copy(self)
        found.places = tuple([place.twin() for place in self.places])
        found.strategy = self.strategy.twin(random)
        found.dirty, found.freed, found.fairness = set(self.dirty), set(self.freed), Fairness()
        return found

    def refreshing(self, now: float) -> Iterator[None]:
        """Look at all candidates anew; yields at times, so that others can have the thread."""
        weights, opens, stock = [], [], Stock()
        self.dirty.clear()
        for position, place in enumerate(self.places):
            if position and position % SLICE == 0:
                yield
            weight, opening = self.weighed(place, now)
            weights.append(weight)
            opens.append(opening)
            if not place.is_held(now):
                stock.add(*place.stock(USUAL, now))
        known = [each for place in self.places if (each := place.latency.fresh(now)) is not None]
        self.median_latency = median_low(known) if known else None
        self._replace(Snapshot.of(now, weights, opens, self._standing), now)
        self.is_low = stock.share(self.fairness, now)

    def patch(self, now: float) -> None:
        """Look at those candidates anew of which something has changed, or should have by now."""
        snapshot = self.snapshot
        if now >= snapshot.opens_at:
            self.dirty.update(position for position, opening in enumerate(snapshot.opens) if opening <= now)
        changed = {position: self.weighed(self.places[position], now) for position in self.dirty}
        self.dirty.clear()
        if changed:
            self._replace(snapshot.patched(changed, self._standing), now)

    def weighed(self, place: Place, now: float) -> tuple[float, float]:
        """Return a candidate's weight in draws, and when it may open if it is shut."""
        bar = place.outlook(USUAL, now)
        if bar is not None:
            return 0.0, max(bar.opens_at, now + SOONEST)
        return self.strategy.weight(place, now), math.inf

    def lasts(self, ttl: float) -> float:
        """Return for how long the snapshot is good: where little is left, it is looked at more often."""
        return min(ttl, max(LOW_SECONDS, len(self.places) * LOW_SECONDS_EACH)) if self.is_low else ttl

    def has_changed(self, position: int, now: float) -> bool:
        """Return whether a candidate differs so much from the snapshot that it should be replaced."""
        weight, _ = self.weighed(self.places[position], now)
        known = self.snapshot.weights[position]
        return not known / CHANGED <= weight <= known * CHANGED

    def found_shut(self, position: int, need: Need, now: float) -> None:
        """Know that a candidate is shut that may be open in the snapshot; it stays so if others may still use it."""
        if self.snapshot.weights[position] > 0 and self.places[position].outlook(USUAL, now) is not None:
            self.dirty.add(position)
        if need.tokens <= self.full_tokens:
            self.freed.discard(position)
        self.full_until = min(self.full_until, self.places[position].shut_until)

    def is_full(self, bars: Sequence[Bar], need: Need, now: float) -> Bar:
        """Know that all were found shut for such a request; return what stands before the one that opens first.

        What may open at any moment is told of when it does. It is looked at beside, but not as often as there are such
        candidates, each of which was found shut at another moment.
        """
        first = min(bars, key=_opens_at)
        timed = min((bar.opens_at for bar in bars if not bar.may_open), default=math.inf)
        rests = min(len(self.places) * REST_SECONDS_EACH, REST_SECONDS)
        self.full, self.full_tokens, self.full_until = first, need.tokens, min(timed, max(first.opens_at, now + rests))
        self.freed.clear()
        return first

    def freed_in_turn(self) -> list[int]:
        """Return the candidates that were freed, those of the first tier first."""
        if len(self._standing) == 1:
            return sorted(self.freed)
        return sorted(self.freed, key=lambda position: (self.places[position].seat.priority, position))

    def still_full(self, need: Need) -> None:
        """Know that what was freed is not enough for such a request; it may be for a smaller one, which looks there."""
        if len(self.freed) > MOST_FREED:
            # Who needs less looks at all of them again, once.
            self.full_tokens = need.tokens
            self.freed.clear()

    def leave(self) -> None:
        """Stand nowhere any more."""
        self.is_left = True
        for place in self.places:
            place.groups = [one for one in place.groups if one[0] is not self]

    def _replace(self, snapshot: Snapshot, now: float) -> None:
        self.snapshot, self.patched = snapshot, now
        self.strategy.rebuilt(snapshot, self.places)


def _opens_at(bar: Bar) -> float:
    return bar.opens_at
