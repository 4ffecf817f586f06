"""The faster of two: by its peak latency of late, times what stands before one there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import SampledStrategy

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class LowestLatency(SampledStrategy):
    """Peak EWMA, two choices."""

    compare_all_up_to = sample_size = 2

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how soon it would answer; an account of which nothing is known yet is tried."""
        del position, request
        return -deployment.expected_wait(now) / deployment.spec.weight
