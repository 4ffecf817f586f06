"""First account until it is used up, then the second: a spare stays whole, a prompt cache stays warm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import Random, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class FillFirst(Strategy):
    """Ranks in the order of the `model_list`."""

    def rank(
        self,
        tier: PriorityTier,
        deployments: Sequence[DeploymentState],
        request: PickRequest,
        now: float,
        random: Random,
    ) -> Iterator[int]:
        """Yield the positions in order."""
        del deployments, request, now, random
        return iter(tier.positions)

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return the negative position."""
        del deployment, request, now
        return 0.0 - position
