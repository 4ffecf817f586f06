"""What strategies have in common that compare a few candidates by their scores, and remember nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from litellm_evenkeel.rotation.strategies.draws import drawn, then_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.snapshot import Snapshot, Tier


class OfFew(ABC):
    """The best of a few that are drawn by the weights that operators wrote."""

    is_by_turn = False
    all_of: ClassVar[int]
    """All of so many are compared."""
    of_more: ClassVar[int]
    """Of more, so many that are drawn."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random

    def weight(self, place: Place, now: float) -> float:
        """Return what the operator wrote."""
        del now
        return place.seat.weight

    def rebuilt(self, snapshot: Snapshot, places: Sequence[Place]) -> None:  # noqa: B027 - whole as it is
        """Remember nothing."""

    def order(self, tier: Tier, places: Sequence[Place], asked: Asked, now: float) -> Iterator[int]:
        """Yield the best of those that were drawn, these, then all others."""
        few = drawn(tier, self.of_more if self.draws(tier) else self.all_of, self._random)
        # Among equals, whoever was drawn first.
        few.sort(key=lambda position: -self.score(position, places[position], asked, now))
        return then_others(few, tier, self._random)

    def chosen(self, position: int) -> None:  # noqa: B027 - see above
        """Remember nothing."""

    def draws(self, tier: Tier) -> bool:
        """Return whether there are too many to compare all."""
        return len(tier.positions) > self.all_of

    def twin(self, random: Callable[[], float]) -> Self:
        """Return one that remembers the same."""
        return type(self)(random)

    @abstractmethod
    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how good a candidate is, more being better; each has its own."""
