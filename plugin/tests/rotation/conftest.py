"""A world for the tests of the rotation: a clock that only they move, chance that repeats itself, accounts."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.limits import Limits
from litellm_evenkeel.rotation.need import ONE, Need
from litellm_evenkeel.rotation.picks import Pick
from litellm_evenkeel.rotation.pool import Pool
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.signals import Signal
from litellm_evenkeel.rotation.terms import RotationTerms, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.held import Held


class World:
    """Time, chance and a pool."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.random = random.Random(7).random
        self.pool = self.made()

    def clock(self) -> float:
        return self.now

    def made(
        self,
        strategy: str = "headroom",
        *,
        refresh: Callable[[Group], None] | None = None,
        opened: Callable[[Group], None] | None = None,
        tell: Callable[[Held], None] | None = None,
        **terms: object,
    ) -> Pool:
        """Use a new pool."""
        told = RotationTerms(strategy=Strategy(strategy), **terms)
        self.pool = Pool(told, clock=self.clock, random=self.random, refresh=refresh, opened=opened, tell=tell)
        return self.pool

    @staticmethod
    def seat(name: str, limits: Mapping[str, object] | None = None, *, weight: float = 1.0, priority: int = 1) -> Seat:
        return Seat(name, name, "m", weight, priority, Limits.of(limits, name))

    def group(self, *seats: Seat) -> Group:
        return self.pool.group("g", seats)

    def pick(self, group: Group, asked: Asked | None = None) -> Pick:
        found = self.pool.pick(group, asked or Asked())
        assert isinstance(found, Pick)
        return found

    def used(self, group: Group, number: int, need: Need = ONE) -> Counter[str]:
        """Return who answers so many requests, each of which ends at once."""
        found: Counter[str] = Counter()
        for _ in range(number):
            pick = self.pick(group, Asked(need))
            self.pool.settle(pick.lease, need)
            found[pick.place.seat.id] += 1
        return found

    def hold(self, group: Group, name: str, seconds: float | None = 10.0, kind: Kind = Kind.RATE_LIMIT) -> None:
        """Let a request fail at an account."""
        place = next(one for one in group.places if one.seat.id == name)
        tried = frozenset(one.seat.id for one in group.places if one is not place)
        lease = self.pick(group, Asked(prefer=name, tried=tried)).lease
        assert lease.place is place
        self.pool.fail(lease, Signal(kind, Scope.ACCOUNT, seconds, "test"))


@pytest.fixture
def world() -> World:
    return World()
