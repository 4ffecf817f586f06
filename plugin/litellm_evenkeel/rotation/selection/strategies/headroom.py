"""Most headroom until the reset, power of two choices. The default.

Candidates are drawn by the rate that their limits sustain. Of two drawn, the one with more headroom is taken: the share
of a limit that is left, over the share of time that is left, less if the limit would run out before its reset. So
accounts of unequal limits are used up together, a window that resets soon is used before it is lost, and large requests
go where much is left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.request import TYPICAL_USAGE
from litellm_evenkeel.rotation.selection.strategies.sampled import SampledStrategy, sample_weighted, then_rest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityLevel
    from litellm_evenkeel.rotation.selection.strategies.base import Random
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Requests per second that an account without limits is assumed to sustain, if it is drawn beside accounts with limits.
UNLIMITED_RATE = 10.0
MIN_RATE = 1e-6


class Headroom(SampledStrategy):
    """Prefers the account with the most headroom."""

    # A third candidate costs as much as the second, and is rarely better.
    compare_all_up_to = sample_size = 2

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return the rate of typical requests that the limits sustain, times the operator's weight."""
        rate = deployment.sustainable_rate(TYPICAL_USAGE, now)
        return deployment.spec.weight * max(UNLIMITED_RATE if rate == math.inf else rate, MIN_RATE)

    def rank(self, level: PriorityLevel, request: PickRequest, now: float, random: Random) -> Iterator[int]:
        """Yield two that are drawn, the better first, then the rest."""
        # Without the sort of the base class: most requests are picked here.
        sample = sample_weighted(level, self.sample_size, random)
        if len(sample) > 1:
            first, second = sample
            deployments = self.deployments
            if deployments[second].headroom(request.usage, now) > deployments[first].headroom(request.usage, now):
                sample = [second, first]
        return then_rest(sample, level, random)

    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return the headroom for a request of this size."""
        return self.deployments[position].headroom(request.usage, now)
