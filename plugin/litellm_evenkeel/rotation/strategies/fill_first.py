"""The first account until nothing is left of it, then the second: a spare stays whole, a cache stays warm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.snapshot import Snapshot, Tier


class FillFirst:
    """In the order in which the operator wrote them."""

    is_by_turn = True

    def __init__(self, random: Callable[[], float]) -> None:
        del random

    def weight(self, place: Place, now: float) -> float:
        """Return that weights do not matter."""
        del place, now
        return 1.0

    def rebuilt(self, snapshot: Snapshot, places: Sequence[Place]) -> None:
        """Remember nothing."""

    def order(self, tier: Tier, places: Sequence[Place], asked: Asked, now: float) -> Iterator[int]:
        """Yield them as they stand."""
        del places, asked, now
        return iter(tier.positions)

    def chosen(self, position: int) -> None:
        """Remember nothing."""

    def draws(self, tier: Tier) -> bool:
        """Return that nothing is left to chance."""
        del tier
        return False

    def twin(self, random: Callable[[], float]) -> FillFirst:
        """Return one that remembers the same."""
        return FillFirst(random)

    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how far in front it stands."""
        del place, asked, now
        return -float(position)
