"""Which group a list of candidates is: found in a moment, because lists are the same again and again.

LiteLLM makes a new list of the same deployments for every request. Its ends and its length tell which of the known ones
it may be. Whether it is that is then seen by comparing the two as lists, which is a nanosecond for each candidate that
is the very same object; lists may differ in a single one.

With a few accounts in each group, however many groups, nobody would notice if it were gone. It is here for groups of
a thousand accounts, where looking through all of them makes a pick 250 times as long, and a proxy slower by more than
a twentieth: reports/route_cache.md has the figures.
"""

from __future__ import annotations

from collections import OrderedDict
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.pool import Pool
    from litellm_evenkeel.rotation.seat import Seat

    Deployment = Mapping[str, Any]
    Ends = tuple[str, int, int, int]

MOST = 512
# A list that nobody has asked for in so many seconds, or in twice that, is none any more: what stood only there was
# deleted, or is asked for no more.
IDLE_SECONDS = 600.0
# After so many requests, the clock is looked at.
EACH = 256
# So many of them may have the same ends.
MOST_ALIKE = 16


class Known:
    """A list of candidates that was looked through, and the group that it is."""

    __slots__ = ("deployments", "group", "has_order", "has_tags", "is_used")

    def __init__(self, group: Group, deployments: Sequence[Deployment]) -> None:
        self.group = group
        self.is_used = True
        # Held, so that no other deployment can ever have the identity of one of these.
        self.deployments = list(deployments)
        self.has_tags, self.has_order = _has_tags(deployments), _has_order(deployments)

    def says(self, seats: list[Seat], deployments: Sequence[Deployment]) -> bool:
        """Return whether this is what a list says that was looked through anew."""
        told = [place.seat for place in self.group.places], self.has_tags, self.has_order
        return told == (seats, _has_tags(deployments), _has_order(deployments))

    def is_equal(self, deployments: Sequence[Deployment]) -> bool:
        """Return whether these say the same at each place."""
        return self.deployments == (deployments if isinstance(deployments, list) else list(deployments))

    def is_there(self, deployments: Sequence[Deployment]) -> Callable[[int, Place], bool]:
        """Return what tells whether a candidate stands where it is thought to."""
        mine = self.deployments
        return lambda position, _place: deployments[position] is mine[position]


class Candidates:
    """The groups that are known: the latest `most` of them.

    With `is_cached` off nothing is believed of a list that was seen before: each is looked through, deployment by
    deployment, to learn that it still is that group.
    """

    def __init__(
        self, pool: Pool, seat: Callable[[Deployment, str], Seat], *, is_cached: bool = True, most: int = MOST
    ) -> None:
        self._pool, self._seat, self._most, self._is_cached = pool, seat, most, is_cached
        self._by_ends: dict[Ends, list[Known]] = {}
        self._latest: OrderedDict[Known, Ends] = OrderedDict()
        self.hits = self.misses = 0
        self._sweeps_at = pool.now() + IDLE_SECONDS

    def of(self, model: str, deployments: Sequence[Deployment]) -> Known:
        """Return what is known of a list of candidates that is not empty."""
        for known in self._by_ends.get(_ends(model, deployments), ()) if self._is_cached else ():
            if known.is_equal(deployments) and not known.group.is_left:
                self.hits += 1
                return self._used(known, self.hits)
        return self.anew(model, deployments)

    def anew(self, model: str, deployments: Sequence[Deployment]) -> Known:
        """Return the same after looking at each of them."""
        self.misses += 1
        ends = _ends(model, deployments)
        seats = None if self._is_cached else self._seats(model, deployments)
        for known in self._by_ends.get(ends, ()):
            if all(map(is_, known.deployments, deployments)) and not known.group.is_left:
                if seats is not None and not known.says(seats, deployments):
                    continue
                return self._used(known, self.misses)
        group = self._pool.group(model, seats or self._seats(model, deployments))
        known = Known(group, deployments)
        alike = self._by_ends.setdefault(ends, [])
        # Of two that say the same, the objects of the latter are those that come from now on.
        alike.insert(0, known)
        self._latest[known] = ends
        if len(alike) > MOST_ALIKE:
            self._drop(alike[-1])
        while len(self._latest) > self._most:
            self._drop(next(iter(self._latest)))
        self._sweep()
        return known

    def _used(self, known: Known, count: int) -> Known:
        """Keep one that was asked for again, and at each so many of these let others go."""
        known.is_used = True
        self._latest.move_to_end(known)
        if not count % EACH:
            self._sweep()
        return known

    def _seats(self, model: str, deployments: Sequence[Deployment]) -> list[Seat]:
        return [self._seat(one, model) for one in deployments]

    def _sweep(self) -> None:
        """Let go what nobody has asked for since the last time."""
        now = self._pool.now()
        if now < self._sweeps_at:
            return
        self._sweeps_at = now + IDLE_SECONDS
        for known in list(self._latest):
            if not known.is_used:
                self._drop(known)
            known.is_used = False
        self._pool.tidy()

    def groups(self) -> list[Group]:
        """Return all groups that are known."""
        return [known.group for known in self._latest]

    def _drop(self, known: Known) -> None:
        ends = self._latest.pop(known)
        alike = self._by_ends[ends]
        alike.remove(known)
        if not alike:
            del self._by_ends[ends]
        self._pool.dissolve(known.group)


def _ends(model: str, deployments: Sequence[Deployment]) -> Ends:
    return model, len(deployments), id(deployments[0]), id(deployments[-1])


def _has_tags(deployments: Sequence[Deployment]) -> bool:
    return any(_is_tagged(one) for one in deployments)


def _has_order(deployments: Sequence[Deployment]) -> bool:
    return any((one.get("litellm_params") or {}).get("order") is not None for one in deployments)


def _is_tagged(deployment: Deployment) -> bool:
    params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
    return bool(params.get("tags") or params.get("tag_regex") or info.get("enable_tag_filtering"))
