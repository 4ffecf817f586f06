"""Strategy: the rule that ranks candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityLevel, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

Random = Callable[[], float]
"""A source of random numbers from 0 to 1."""


class Strategy(ABC):
    """Ranks the candidates of one candidate set. Whether a candidate is available is not its concern."""

    def __init__(self, deployments: Sequence[DeploymentState]) -> None:
        self.deployments = deployments

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return how often a candidate is drawn beside others, above 0. It is read when a snapshot is built."""
        del now
        return deployment.spec.weight

    def on_snapshot(self, snapshot: Snapshot) -> None:  # noqa: B027 - optional
        """Prepare for a new snapshot."""

    @abstractmethod
    def rank(self, level: PriorityLevel, request: PickRequest, now: float, random: Random) -> Iterator[int]:
        """Yield each position of a level once, the best first. Few are read: most requests take the first."""

    def compared_of(self, number: int) -> int:
        """Return how many of `number` available candidates of a level a request compares."""
        return number

    def on_pick(self, position: int) -> None:  # noqa: B027 - optional
        """Record that a candidate was picked."""

    @abstractmethod
    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return how good a candidate is for a request; more is better."""
