"""Uses each account in turn."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import Random, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityLevel
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class RoundRobin(Strategy):
    """Ranks by turn, in the order of the `model_list`."""

    def __init__(self, deployments: Sequence[DeploymentState]) -> None:
        super().__init__(deployments)
        self._last_position = -1
        self._turn = 0
        self._turn_of: dict[int, int] = {}

    def rank(self, level: PriorityLevel, request: PickRequest, now: float, random: Random) -> Iterator[int]:
        """Yield the positions after the last picked one, then those before it."""
        del request, now, random
        positions = level.positions
        start = bisect_right(positions, self._last_position)
        # By index: a slice would copy them all.
        return (positions[index] for index in chain(range(start, len(positions)), range(start)))

    def on_pick(self, position: int) -> None:
        """Continue after this position."""
        self._last_position = position
        self._turn += 1
        self._turn_of[position] = self._turn

    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return the number of picks since its last turn."""
        del request, now
        return float(self._turn - self._turn_of.get(position, 0))
