"""The faster of two: by its peak latency of late, times what stands before one there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.strategies.few import OfFew

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.place import Place


class LowestLatency(OfFew):
    """Peak EWMA, two choices."""

    all_of = of_more = 2

    def score(self, position: int, place: Place, asked: Asked, now: float) -> float:
        """Return how soon it would answer; an account of which nothing is known yet is tried."""
        del position, asked
        return -place.waits(now) / place.seat.weight
