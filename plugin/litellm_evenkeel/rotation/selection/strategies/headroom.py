"""The account that is furthest ahead of an even use of its limits.

Drawn are accounts by how many requests of this kind they bear in a second; of those drawn, the one is taken whose share
left is largest for the time left, less where it would run out before its reset. So accounts of unequal limits are
used up together, a window that ends soon is used before it is lost, and large requests go where much is left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.request import TYPICAL_USAGE
from litellm_evenkeel.rotation.selection.strategies.base import sample_weighted, then_rest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Two choices: a third costs as much as the second, and finds little that is better.
DRAWS = 2
# What an account without limits is thought to bear in a second, beside others that have limits.
UNLIMITED = 10.0
LEAST = 1e-6


class Headroom:
    """The default."""

    is_by_turn = False

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return how many usual requests it bears in a second."""
        bears = deployment.sustainable_rate(TYPICAL_USAGE, now)
        return deployment.spec.weight * max(UNLIMITED if bears == math.inf else bears, LEAST)

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:
        """Remember nothing."""

    def rank(
        self, tier: PriorityTier, deployments: Sequence[DeploymentState], request: PickRequest, now: float
    ) -> Iterator[int]:
        """Yield a few that were drawn, the best first, then the others."""
        few = sample_weighted(tier, DRAWS, self._random)
        if len(few) > 1:
            first, second = few
            if deployments[second].headroom(request.usage, now) > deployments[first].headroom(request.usage, now):
                few = [second, first]
        return then_rest(few, tier, self._random)

    def on_pick(self, position: int) -> None:
        """Remember nothing."""

    def draws(self, tier: PriorityTier) -> bool:
        """Return whether there are more than are drawn."""
        return len(tier.positions) > DRAWS

    def twin(self, random: Callable[[], float]) -> Headroom:
        """Return one that remembers the same."""
        return Headroom(random)

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return its pace for a request of this size."""
        del position
        return deployment.headroom(request.usage, now)
