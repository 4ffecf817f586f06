"""The account with the fewest requests under way, for its weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.strategies.draws import drawn, then_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.snapshot import Snapshot, Tier

# All of so many are compared; of more, so many that were drawn: two would already do nearly as well.
ALL, DRAWS = 32, 8


class LeastLoaded:
    """By what is under way."""

    is_by_turn = False

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random

    def weight(self, place: Place, now: float) -> float:
        """Return what the operator wrote."""
        del now
        return place.seat.weight

    def rebuilt(self, snapshot: Snapshot, places: Sequence[Place]) -> None:
        """Remember nothing."""

    def order(self, tier: Tier, places: Sequence[Place], asked: Asked, now: float) -> Iterator[int]:
        """Yield the least loaded first."""
        few = drawn(tier, ALL if len(tier.positions) <= ALL else DRAWS, self._random)
        # Among equals, whoever was drawn first.
        few.sort(key=lambda position: -self.score(position, places[position], asked, now))
        return then_others(few, tier, self._random)

    def chosen(self, position: int) -> None:
        """Remember nothing."""

    def draws(self, tier: Tier) -> bool:
        """Return whether there are too many to compare all."""
        return len(tier.positions) > ALL

    def twin(self, random: Callable[[], float]) -> LeastLoaded:
        """Return one that remembers the same."""
        return LeastLoaded(random)

    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how little is under way at its account; what its models share counts for all of them."""
        del position, asked, now
        return -place.account.in_flight / place.seat.weight
