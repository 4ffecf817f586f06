"""Fewest requests in flight per weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import SampledStrategy

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class LeastBusy(SampledStrategy):
    """Prefers the account with the fewest requests in flight."""

    # Two would already do nearly as well.
    compare_all_up_to, sample_size = 32, 8

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return the negative number of requests in flight at the account, over all its models, per weight."""
        del position, request, now
        return -deployment.account.in_flight / deployment.spec.weight
