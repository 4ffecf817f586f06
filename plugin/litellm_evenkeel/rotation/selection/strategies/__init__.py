"""The strategies, and the table of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import Strategy
from litellm_evenkeel.rotation.selection.strategies.fill_first import FillFirst
from litellm_evenkeel.rotation.selection.strategies.headroom import Headroom
from litellm_evenkeel.rotation.selection.strategies.least_busy import LeastBusy
from litellm_evenkeel.rotation.selection.strategies.lowest_latency import LowestLatency
from litellm_evenkeel.rotation.selection.strategies.round_robin import RoundRobin
from litellm_evenkeel.rotation.selection.strategies.weighted import Weighted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

__all__ = ["STRATEGIES", "Strategy"]

STRATEGIES: Mapping[str, Callable[[Sequence[DeploymentState]], Strategy]] = {
    "headroom": Headroom,
    "round_robin": RoundRobin,
    "weighted": Weighted,
    "least_busy": LeastBusy,
    "fill_first": FillFirst,
    "lowest_latency": LowestLatency,
}
"""The strategies by name. Each candidate set has an instance of its own."""
