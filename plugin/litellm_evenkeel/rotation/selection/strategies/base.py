"""Strategy: the rule that ranks candidates, and weighted sampling for those that compare only a few."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

Random = Callable[[], float]
"""A source of random numbers from 0 to 1."""


class Strategy(ABC):
    """Ranks the candidates of one candidate set. Whether a candidate is available is not its concern."""

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return how often a candidate is drawn beside others, above 0. It is read when a snapshot is built."""
        del now
        return deployment.spec.weight

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:  # noqa: B027 - optional
        """Prepare for a new snapshot."""

    @abstractmethod
    def rank(
        self,
        tier: PriorityTier,
        deployments: Sequence[DeploymentState],
        request: PickRequest,
        now: float,
        random: Random,
    ) -> Iterator[int]:
        """Yield each position of a tier once, the best first. Few are read: most requests take the first."""

    def compared_of(self, number: int) -> int:
        """Return how many of `number` available candidates of a tier a request compares."""
        return number

    def on_pick(self, position: int) -> None:  # noqa: B027 - optional
        """Record that a candidate was picked."""

    @abstractmethod
    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how good a candidate is for a request; more is better."""


class SampledStrategy(Strategy):
    """Ranks a few candidates, drawn by weight, by their score."""

    compare_all_up_to: ClassVar[int]
    """Up to so many candidates, all are compared."""
    sample_size: ClassVar[int]
    """Of more candidates, so many are drawn."""

    def compared_of(self, number: int) -> int:
        """Return how many candidates are drawn."""
        return number if number <= self.compare_all_up_to else self.sample_size

    def rank(
        self,
        tier: PriorityTier,
        deployments: Sequence[DeploymentState],
        request: PickRequest,
        now: float,
        random: Random,
    ) -> Iterator[int]:
        """Yield the drawn candidates by score, then the rest."""
        sample = sample_weighted(tier, self.compared_of(len(tier.positions)), random)
        # The sort is stable: among equals, the one that was drawn first stays first.
        sample.sort(key=lambda position: -self.score(position, deployments[position], request, now))
        return then_rest(sample, tier, random)


def sample_weighted(tier: PriorityTier, size: int, random: Random) -> list[int]:
    """Return up to `size` different positions, drawn by weight; all of them if the tier has no more than `size`."""
    positions, cumulative = tier.positions, tier.cumulative_weights
    total, last = cumulative[-1], len(positions) - 1
    if last < size:
        # The first is still drawn: it wins among equals.
        first = bisect_right(cumulative, random() * total, 0, last)
        return [positions[first], *positions[:first], *positions[first + 1 :]]
    sample = [positions[bisect_right(cumulative, random() * total, 0, last)]]
    for _ in range(size - 1):
        position = positions[bisect_right(cumulative, random() * total, 0, last)]
        if position not in sample:
            sample.append(position)
    return sample


def then_rest(first: list[int], tier: PriorityTier, random: Random) -> Iterator[int]:
    """Yield the positions of `first`, then all others of the tier, from a random one on."""
    yield from first
    positions = tier.positions
    if len(first) == len(positions):
        return
    start = int(random() * len(positions))
    for part in (positions[start:], positions[:start]):
        for position in part:
            if position not in first:
                yield position
