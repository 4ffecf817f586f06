"""The account with the fewest requests under way, for its weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.strategies.few import OfFew

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place


class LeastLoaded(OfFew):
    """By what is under way."""

    # Two would already do nearly as well.
    all_of, of_more = 32, 8

    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how little is under way at its account; what its models share counts for all of them."""
        del position, asked, now
        return -place.account.in_flight / place.seat.weight
