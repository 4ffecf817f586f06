"""One after the other."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class RoundRobin:
    """Each in its turn."""

    is_by_turn = True

    def __init__(self, random: Callable[[], float]) -> None:
        del random
        self._last = -1
        self._chosen: dict[int, int] = {}
        self._turn = 0

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return that all are equal."""
        del deployment, now
        return 1.0

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:
        """Go on where it was: positions stay the same."""

    def rank(
        self, tier: PriorityTier, deployments: Sequence[DeploymentState], request: PickRequest, now: float
    ) -> Iterator[int]:
        """Yield them from the one after the last that was chosen."""
        del deployments, request, now
        positions = tier.positions
        start = bisect_right(positions, self._last)
        # By number, because a slice would copy them all.
        return (positions[each] for each in chain(range(start, len(positions)), range(start)))

    def on_pick(self, position: int) -> None:
        """Go on from there."""
        self._last = position
        self._turn += 1
        self._chosen[position] = self._turn

    def draws(self, tier: PriorityTier) -> bool:
        """Return that nothing is left to chance."""
        del tier
        return False

    def twin(self, random: Callable[[], float]) -> RoundRobin:
        """Return one that remembers the same."""
        found = RoundRobin(random)
        found._last, found._turn, found._chosen = self._last, self._turn, dict(self._chosen)
        return found

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how long ago it had its turn, in turns."""
        del deployment, request, now
        return float(self._turn - self._chosen.get(position, 0))
