"""Peak EWMA of latency times queue length, power of two choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import SampledStrategy

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class LowestLatency(SampledStrategy):
    """Prefers the account that is expected to answer first."""

    compare_all_up_to = sample_size = 2

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return the negative expected wait per weight. An account without a known latency is tried first."""
        del position, request
        return -deployment.expected_wait(now) / deployment.spec.weight
