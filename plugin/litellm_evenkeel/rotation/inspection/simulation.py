"""Who may be chosen for a request, and how likely: the live choice itself, made many times over, taking nothing.

All of it looks at the twin of a group, so that it leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason
from litellm_evenkeel.rotation.selection.selector import is_known_saturated, select, select_pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier

SAMPLES = 400
# After so many candidates, others get the thread.
SLICE = 64


@dataclass(frozen=True, slots=True)
class SelectionOdds:
    """What would come of asking now."""

    possible: frozenset[int]
    """The positions that may be chosen, however unlikely some of them are."""
    shares: Mapping[int, float]
    """How often each was chosen, of all times; those that never were are not there."""
    reasons: Mapping[int, PickReason]
    no_capacity: NoCapacity | None
    """If nobody can be chosen."""
    samples: int
    """How often the choice was made: once where nothing is left to chance."""

    @property
    def likeliest(self) -> int | None:
        """Who was chosen most often."""
        return max(self.shares, key=lambda position: (self.shares[position], -position), default=None)


class CountingRandom:
    """A source of random numbers that knows whether anybody has asked it."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self.asked = 0

    def __call__(self) -> float:
        """Return the next one."""
        self.asked += 1
        return self._random()


def selection_odds(
    twin: CandidateSet, request: PickRequest, now: float, coin: CountingRandom, samples: int = SAMPLES
) -> Generator[None, None, SelectionOdds]:
    """Find out; `coin` is what the twin's strategy draws from. Yields at times, so that others can have the thread."""
    found: Counter[int] = Counter()
    reasons: dict[int, Counter[PickReason]] = {}
    no_capacity: NoCapacity | None = None
    before = twin.blocker, twin.blocked_until, twin.blocked_tokens, frozenset(twin.freed_positions)
    made = 0
    while made < samples:
        coin.asked = 0
        one = select(twin, request, now, coin)
        twin.blocker, twin.blocked_until, twin.blocked_tokens, twin.freed_positions = *before[:3], set(before[3])
        made += 1
        if isinstance(one, NoCapacity):
            no_capacity = one
            break
        position, reason = one
        found[position] += 1
        reasons.setdefault(position, Counter())[reason] += 1
        if not coin.asked:
            break
        yield
    possible = set(found)
    if not no_capacity:
        for reached in _possible(twin, request, now, coin):
            if reached is None:
                yield
            else:
                possible.add(reached)
    return SelectionOdds(
        frozenset(possible),
        {position: times / made for position, times in found.items()},
        {position: told.most_common(1)[0][0] for position, told in reasons.items()},
        no_capacity,
        made,
    )


def _possible(twin: CandidateSet, request: PickRequest, now: float, coin: CountingRandom) -> Iterator[int | None]:
    """Yield whom the choice may reach: those of the first rank with one that is open to all traffic, and before it.

    At times it yields nobody, so that others can have the thread.
    """
    # On its way back, the pinned one is not the only one.
    if select_pinned(twin, request, now, lambda: 1.0) is not None:
        return
    for rank in _ranks(twin, request, now, coin):
        is_enough = False
        for number, position in enumerate(rank, 1):
            if number % SLICE == 0:
                yield None
            deployment = twin.deployments[position]
            if deployment.spec.id in request.excluded or deployment.blocker(request.usage, now) is not None:
                continue
            is_enough = is_enough or deployment.traffic_share(now) >= 1
            yield position
        if is_enough:
            return


def _ranks(twin: CandidateSet, request: PickRequest, now: float, coin: CountingRandom) -> Iterator[Sequence[int]]:
    """Yield the candidates in the order in which the choice looks at them, those together whose order is chance."""
    if is_known_saturated(twin, request, now):
        yield from ([position] for position in sorted(twin.freed_positions))
        return
    for tier in twin.snapshot.tiers:
        yield from _ranks_of_tier(twin, tier, request, now, coin)
    yield from ([position] for position, weight in enumerate(twin.snapshot.weights) if not weight)


def _ranks_of_tier(
    twin: CandidateSet, tier: PriorityTier, request: PickRequest, now: float, coin: CountingRandom
) -> Iterator[Sequence[int]]:
    strategy, deployments = twin.strategy, twin.deployments
    if strategy.draws(tier):
        yield tier.positions
        return
    coin.asked = 0
    order = list(strategy.rank(tier, deployments, request, now))
    if not coin.asked:
        yield from ([position] for position in order)
        return
    # Chance has only decided between equals.
    for _, equals in groupby(order, key=lambda position: strategy.score(position, deployments[position], request, now)):
        yield list(equals)
