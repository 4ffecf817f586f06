"""The first account until nothing is left of it, then the second: a spare stays whole, a cache stays warm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class FillFirst:
    """In the order in which the operator wrote them."""

    is_by_turn = True

    def __init__(self, random: Callable[[], float]) -> None:
        del random

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return that weights do not matter."""
        del deployment, now
        return 1.0

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:
        """Remember nothing."""

    def rank(
        self, tier: PriorityTier, deployments: Sequence[DeploymentState], request: PickRequest, now: float
    ) -> Iterator[int]:
        """Yield them as they stand."""
        del deployments, request, now
        return iter(tier.positions)

    def on_pick(self, position: int) -> None:
        """Remember nothing."""

    def draws(self, tier: PriorityTier) -> bool:
        """Return that nothing is left to chance."""
        del tier
        return False

    def twin(self, random: Callable[[], float]) -> FillFirst:
        """Return one that remembers the same."""
        return FillFirst(random)

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how far in front it stands."""
        del deployment, request, now
        return -float(position)
