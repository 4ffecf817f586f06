"""Prefers the account with the fewest requests in flight per weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.sampled import SampledStrategy

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import PickRequest


class LeastBusy(SampledStrategy):
    """Ranks a few by their load."""

    # Two would already do nearly as well.
    compare_all_up_to, sample_size = 32, 8

    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return the negative number of requests in flight at the account, over all its models, per weight."""
        del request, now
        deployment = self.deployments[position]
        return -deployment.account.in_flight / deployment.spec.weight
