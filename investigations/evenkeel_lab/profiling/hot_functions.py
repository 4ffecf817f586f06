"""Which functions the CPU went to, per request; and which of them cost more than in another arm."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.stacks import Spent

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile, Taken

# Hundreds of functions are compared: of two equal arms, one in 400 differs by so many standard errors.
ERRORS = 3.0
# A function that hands so much of its cost on to one other is only on the way there.
HANDED_ON = 0.9
NOTHING = Spent(0, 0)


@dataclass(frozen=True)
class Cost:
    """What a function costs, in milliseconds of CPU per request."""

    name: str
    own: float
    cumulated: float
    own_share: float
    """Of all that a request costs."""
    cumulated_share: float


@dataclass(frozen=True)
class Change:
    """By how much a function costs more per request than in the baseline, in milliseconds of CPU."""

    name: str
    own: float
    own_doubt: float
    """So much of it, up or down, may come from having taken samples only."""
    cumulated: float
    cumulated_doubt: float

    @property
    def own_is_clear(self) -> bool:
        """Whether its own cost differs by more than samples can be wrong."""
        return abs(self.own) > self.own_doubt

    @property
    def cumulated_is_clear(self) -> bool:
        """Whether its cost with all that it calls does."""
        return abs(self.cumulated) > self.cumulated_doubt


def top(profile: Profile, arm: str) -> list[Cost]:
    """Return all functions of an arm, the dearest by its own lines first."""
    taken = profile.arms[arm]
    whole = _whole(taken)
    found = [
        Cost(
            name,
            spent.own / whole * taken.cpu_ms,
            spent.cumulated / whole * taken.cpu_ms,
            spent.own / whole,
            spent.cumulated / whole,
        )
        for name, spent in taken.functions.items()
    ]
    return sorted(found, key=lambda one: (-one.own, -one.cumulated, one.name))


def difference(profile: Profile, baseline: str, arm: str) -> list[Change]:
    """Return by how much each function of either arm costs more in `arm`, the dearest by its own lines first."""
    below, above = profile.arms[baseline], profile.arms[arm]
    found = []
    for name in {**below.functions, **above.functions}:
        before, after = below.functions.get(name, NOTHING), above.functions.get(name, NOTHING)
        own, own_doubt = _changed(below, before.own, above, after.own)
        cumulated, cumulated_doubt = _changed(below, before.cumulated, above, after.cumulated)
        found.append(Change(name, own, own_doubt, cumulated, cumulated_doubt))
    return sorted(found, key=lambda one: (-one.own, -one.cumulated, one.name))


def on_the_way(taken: Taken) -> frozenset[str]:
    """Return the functions of an arm that cost nothing to speak of but what one other function does."""
    whole: Counter[str] = Counter()
    callees: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for stack, spent in taken.stacks.items():
        seen: set[str] = set()
        for caller, callee in pairwise((*stack, "")):
            # Of a function that calls itself, the outermost call counts.
            if caller not in seen:
                seen.add(caller)
                whole[caller] += spent
                callees[caller][callee] += spent
    return frozenset(
        name
        for name, found in callees.items()
        if any(callee and spent >= HANDED_ON * whole[name] for callee, spent in found.items())
    )


def _changed(below: Taken, before: int, above: Taken, after: int) -> tuple[float, float]:
    """Return a difference, and by how much it may be wrong because only samples were taken."""
    less, more = (spent / _whole(one) * one.cpu_ms for one, spent in ((below, before), (above, after)))
    # A count of n varies by its root, as Poisson's do; each sample stands for so many milliseconds.
    varies = sum(cost * one.cpu_ms / max(one.samples, 1) for one, cost in ((below, less), (above, more)))
    return more - less, ERRORS * math.sqrt(varies)


def _whole(taken: Taken) -> int:
    return max(sum(one.own for one in taken.functions.values()), 1)
