"""Prefers the account that is expected to answer first: peak EWMA of latency times queue length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.sampled import SampledStrategy

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import PickRequest


class LowestLatency(SampledStrategy):
    """Ranks two by their expected wait."""

    compare_all_up_to = sample_size = 2

    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return the negative expected wait per weight. An account without a known latency is tried first."""
        del request
        deployment = self.deployments[position]
        return -deployment.expected_wait(now) / deployment.spec.weight
