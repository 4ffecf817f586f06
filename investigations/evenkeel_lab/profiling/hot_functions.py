"""Functions by their CPU time per request, and by its difference from another arm."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.stacks import Spent

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import ArmProfile, Profile

# Standard errors of a clear difference. Hundreds of functions are compared; in equal arms, one in 400 differs by more.
ERRORS = 3.0
# A function with this share of its cost in one callee is only a wrapper of it.
WRAPPED_SHARE = 0.9
NOTHING = Spent(0, 0)


@dataclass(frozen=True)
class Cost:
    """Cost of a function, in milliseconds of CPU per request."""

    name: str
    own: float
    cumulated: float
    own_share: float
    """Share of a request's whole cost."""
    cumulated_share: float


@dataclass(frozen=True)
class Change:
    """Increase of a function's cost over the baseline, in milliseconds of CPU per request."""

    name: str
    own: float
    own_error: float
    """Sampling error of `own`: three standard errors."""
    cumulated: float
    cumulated_error: float

    @property
    def own_is_clear(self) -> bool:
        """Whether the difference of its own cost is larger than the sampling error."""
        return abs(self.own) > self.own_error

    @property
    def cumulated_is_clear(self) -> bool:
        """Whether the difference of its cumulated cost is larger than the sampling error."""
        return abs(self.cumulated) > self.cumulated_error


def top(profile: Profile, arm: str) -> list[Cost]:
    """Return all functions of an arm, by falling own cost."""
    measured = profile.arms[arm]
    whole = _whole(measured)
    costs = [
        Cost(
            name,
            spent.own / whole * measured.cpu_ms,
            spent.cumulated / whole * measured.cpu_ms,
            spent.own / whole,
            spent.cumulated / whole,
        )
        for name, spent in measured.functions.items()
    ]
    return sorted(costs, key=lambda cost: (-cost.own, -cost.cumulated, cost.name))


def difference(profile: Profile, baseline: str, arm: str) -> list[Change]:
    """Return the increase of each function's cost from `baseline` to `arm`, by falling increase of the own cost."""
    below, above = profile.arms[baseline], profile.arms[arm]
    changes = []
    for name in {**below.functions, **above.functions}:
        before, after = below.functions.get(name, NOTHING), above.functions.get(name, NOTHING)
        own, own_error = _changed(below, before.own, above, after.own)
        cumulated, cumulated_error = _changed(below, before.cumulated, above, after.cumulated)
        changes.append(Change(name, own, own_error, cumulated, cumulated_error))
    return sorted(changes, key=lambda change: (-change.own, -change.cumulated, change.name))


def wrappers(profile: ArmProfile) -> frozenset[str]:
    """Return the functions of an arm that only wrap one other function, which has nearly all of their cost."""
    whole: Counter[str] = Counter()
    callees: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for stack, spent in profile.stacks.items():
        seen: set[str] = set()
        for caller, callee in pairwise((*stack, "")):
            # A recursive function counts once, by its outermost call.
            if caller not in seen:
                seen.add(caller)
                whole[caller] += spent
                callees[caller][callee] += spent
    return frozenset(
        name
        for name, costs in callees.items()
        if any(callee and spent >= WRAPPED_SHARE * whole[name] for callee, spent in costs.items())
    )


def _changed(below: ArmProfile, before: int, above: ArmProfile, after: int) -> tuple[float, float]:
    """Return the difference of a cost, and its sampling error."""
    less, more = (spent / _whole(arm) * arm.cpu_ms for arm, spent in ((below, before), (above, after)))
    # The variance of a count is the count (Poisson). Each sample stands for `cpu_ms / samples` milliseconds.
    variance = sum(cost * arm.cpu_ms / max(arm.samples, 1) for arm, cost in ((below, less), (above, more)))
    return more - less, ERRORS * math.sqrt(variance)


def _whole(arm: ArmProfile) -> int:
    return max(sum(spent.own for spent in arm.functions.values()), 1)
