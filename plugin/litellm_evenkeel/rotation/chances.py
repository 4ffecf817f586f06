"""Who may be chosen for a request, and how likely: the live choice itself, made many times over, taking nothing.

All of it looks at the twin of a group, so that it leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.choosing import choose, is_known_full, preferred
from litellm_evenkeel.rotation.picks import Full, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.snapshot import Tier

SAMPLES = 400
# After so many candidates, others get the thread.
SLICE = 64


@dataclass(frozen=True, slots=True)
class Chances:
    """What would come of asking now."""

    possible: frozenset[int]
    """The positions that may be chosen, however unlikely some of them are."""
    shares: Mapping[int, float]
    """How often each was chosen, of all times; those that never were are not there."""
    reasons: Mapping[int, Reason]
    full: Full | None
    """If nobody can be chosen."""
    samples: int
    """How often the choice was made: once where nothing is left to chance."""

    @property
    def likeliest(self) -> int | None:
        """Who was chosen most often."""
        return max(self.shares, key=lambda position: (self.shares[position], -position), default=None)


class Coin:
    """A source of random numbers that knows whether anybody has asked it."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self.asked = 0

    def __call__(self) -> float:
        """Return the next one."""
        self.asked += 1
        return self._random()


def chances(
    twin: Group, asked: Asked, now: float, coin: Coin, samples: int = SAMPLES
) -> Generator[None, None, Chances]:
    """Find out; `coin` is what the twin's strategy draws from. Yields at times, so that others can have the thread."""
    found: Counter[int] = Counter()
    reasons: dict[int, Counter[Reason]] = {}
    full: Full | None = None
    before = twin.full, twin.full_until, twin.full_tokens, frozenset(twin.freed)
    made = 0
    while made < samples:
        coin.asked = 0
        one = choose(twin, asked, now, coin)
        twin.full, twin.full_until, twin.full_tokens, twin.freed = *before[:3], set(before[3])
        made += 1
        if isinstance(one, Full):
            full = one
            break
        position, reason = one
        found[position] += 1
        reasons.setdefault(position, Counter())[reason] += 1
        if not coin.asked:
            break
        yield
    possible = set(found)
    if not full:
        for reached in _possible(twin, asked, now, coin):
            if reached is None:
                yield
            else:
                possible.add(reached)
    return Chances(
        frozenset(possible),
        {position: times / made for position, times in found.items()},
        {position: told.most_common(1)[0][0] for position, told in reasons.items()},
        full,
        made,
    )


def _possible(twin: Group, asked: Asked, now: float, coin: Coin) -> Iterator[int | None]:
    """Yield whom the choice may reach: those of the first rank with one that is open to all traffic, and before it.

    At times it yields nobody, so that others can have the thread.
    """
    # On its way back, the pinned one is not the only one.
    if preferred(twin, asked, now, lambda: 1.0) is not None:
        return
    for rank in _ranks(twin, asked, now, coin):
        is_enough = False
        for number, position in enumerate(rank, 1):
            if number % SLICE == 0:
                yield None
            place = twin.places[position]
            if place.seat.id in asked.tried or place.bar(asked.need, now) is not None:
                continue
            is_enough = is_enough or place.share(now) >= 1
            yield position
        if is_enough:
            return


def _ranks(twin: Group, asked: Asked, now: float, coin: Coin) -> Iterator[Sequence[int]]:
    """Yield the candidates in the order in which the choice looks at them, those together whose order is chance."""
    if is_known_full(twin, asked, now):
        yield from ([position] for position in sorted(twin.freed))
        return
    for tier in twin.snapshot.tiers:
        yield from _ranks_of_tier(twin, tier, asked, now, coin)
    yield from ([position] for position, weight in enumerate(twin.snapshot.weights) if not weight)


def _ranks_of_tier(twin: Group, tier: Tier, asked: Asked, now: float, coin: Coin) -> Iterator[Sequence[int]]:
    strategy, places = twin.strategy, twin.places
    if strategy.draws(tier):
        yield tier.positions
        return
    coin.asked = 0
    order = list(strategy.order(tier, places, asked, now))
    if not coin.asked:
        yield from ([position] for position in order)
        return
    # Chance has only decided between equals.
    for _, equals in groupby(order, key=lambda position: strategy.score(position, places[position], asked, now)):
        yield list(equals)
