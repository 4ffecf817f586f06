"""One after the other."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.snapshot import Snapshot, Tier


class RoundRobin:
    """Each in its turn."""

    is_by_turn = True

    def __init__(self, random: Callable[[], float]) -> None:
        del random
        self._last = -1
        self._chosen: dict[int, int] = {}
        self._turn = 0

    def weight(self, place: Place, now: float) -> float:
        """Return that all are equal."""
        del place, now
        return 1.0

    def rebuilt(self, snapshot: Snapshot, places: Sequence[Place]) -> None:
        """Go on where it was: positions stay the same."""

    def order(self, tier: Tier, places: Sequence[Place], asked: Asked, now: float) -> Iterator[int]:
        """Yield them from the one after the last that was chosen."""
        del places, asked, now
        positions = tier.positions
        start = bisect_right(positions, self._last)
        # By number, because a slice would copy them all.
        return (positions[each] for each in chain(range(start, len(positions)), range(start)))

    def chosen(self, position: int) -> None:
        """Go on from there."""
        self._last = position
        self._turn += 1
        self._chosen[position] = self._turn

    def draws(self, tier: Tier) -> bool:
        """Return that nothing is left to chance."""
        del tier
        return False

    def twin(self, random: Callable[[], float]) -> RoundRobin:
        """Return one that remembers the same."""
        found = RoundRobin(random)
        found._last, found._turn, found._chosen = self._last, self._turn, dict(self._chosen)
        return found

    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how long ago it had its turn, in turns."""
        del place, asked, now
        return float(self._turn - self._chosen.get(position, 0))
