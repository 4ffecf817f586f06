"""The faster of two: by its peak latency of late, times what stands before one there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.strategies.draws import drawn, then_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.snapshot import Snapshot, Tier

DRAWS = 2


class LowestLatency:
    """Peak EWMA, two choices."""

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
        """Yield the faster of two that were drawn, the other, then all others."""
        few = drawn(tier, DRAWS, self._random)
        few.sort(key=lambda position: -self.score(position, places[position], asked, now))
        return then_others(few, tier, self._random)

    def chosen(self, position: int) -> None:
        """Remember nothing."""

    def draws(self, tier: Tier) -> bool:
        """Return whether there are more than are drawn."""
        return len(tier.positions) > DRAWS

    def twin(self, random: Callable[[], float]) -> LowestLatency:
        """Return one that remembers the same."""
        return LowestLatency(random)

    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how soon it would answer; an account of which nothing is known yet is tried."""
        del position, asked
        return -place.waits(now) / place.seat.weight
