"""Uses the first account until it is used up, then the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import Random, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityLevel


class FillFirst(Strategy):
    """Ranks by the order of the `model_list`: a spare stays whole, and a prompt cache stays warm."""

    def rank(self, level: PriorityLevel, request: PickRequest, now: float, random: Random) -> Iterator[int]:
        """Yield the positions in order."""
        del request, now, random
        return iter(level.positions)

    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return the negative position."""
        del request, now
        return 0.0 - position
