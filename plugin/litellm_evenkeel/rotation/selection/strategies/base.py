"""What a strategy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


def sample_weighted(tier: PriorityTier, number: int, random: Callable[[], float]) -> list[int]:
    """Return up to so many different positions, each drawn as often as its weight says."""
    positions, reach = tier.positions, tier.cumulative_weights
    total, last = reach[-1], len(positions) - 1
    if last < number:
        # All of them; who is first is drawn, for it is the one among equals.
        first = bisect_right(reach, random() * total, 0, last)
        return [positions[first], *positions[:first], *positions[first + 1 :]]
    found = [positions[bisect_right(reach, random() * total, 0, last)]]
    for _ in range(number - 1):
        position = positions[bisect_right(reach, random() * total, 0, last)]
        if position not in found:
            found.append(position)
    return found


def then_rest(first: list[int], tier: PriorityTier, random: Callable[[], float]) -> Iterator[int]:
    """Yield these, then all others of the tier from a random one on."""
    yield from first
    positions = tier.positions
    if len(first) == len(positions):
        return
    start = int(random() * len(positions))
    for part in (positions[start:], positions[:start]):
        for position in part:
            if position not in first:
                yield position


class SampledStrategy(ABC):
    """The best of a few that are drawn by the weights that operators wrote."""

    is_by_turn = False
    compare_all_up_to: ClassVar[int]
    """All of so many are compared."""
    sample_size: ClassVar[int]
    """Of more, so many that are drawn."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return what the operator wrote."""
        del now
        return deployment.spec.weight

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:  # noqa: B027 - whole as it is
        """Remember nothing."""

    def rank(
        self, tier: PriorityTier, deployments: Sequence[DeploymentState], request: PickRequest, now: float
    ) -> Iterator[int]:
        """Yield the best of those that were drawn, these, then all others."""
        few = sample_weighted(tier, self.sample_size if self.draws(tier) else self.compare_all_up_to, self._random)
        # Among equals, whoever was drawn first.
        few.sort(key=lambda position: -self.score(position, deployments[position], request, now))
        return then_rest(few, tier, self._random)

    def on_pick(self, position: int) -> None:  # noqa: B027 - see above
        """Remember nothing."""

    def draws(self, tier: PriorityTier) -> bool:
        """Return whether there are too many to compare all."""
        return len(tier.positions) > self.compare_all_up_to

    def twin(self, random: Callable[[], float]) -> Self:
        """Return one that remembers the same."""
        return type(self)(random)

    @abstractmethod
    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how good a candidate is, more being better; each has its own."""


class Strategy(Protocol):
    """An order among the candidates of one group; whether one may be chosen at all is not its concern."""

    is_by_turn: bool
    """Whether it goes by turns or by places, which nothing that happens to a candidate can change."""

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return how often an open candidate should be drawn, more than 0; read when a snapshot is made."""

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:
        """Know of a new snapshot."""

    def rank(
        self, tier: PriorityTier, deployments: Sequence[DeploymentState], request: PickRequest, now: float
    ) -> Iterator[int]:
        """Yield the positions of a tier, the best first and each of them once, as far as anybody looks."""

    def on_pick(self, position: int) -> None:
        """Know which one it was."""

    def draws(self, tier: PriorityTier) -> bool:
        """Return whether chance says who is compared at all; if not, of those that are open the best is chosen."""

    def twin(self, random: Callable[[], float]) -> Strategy:
        """Return one that remembers the same and draws from a source of its own, to try things with."""

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how good a candidate is for a request, more being better; for those who want to understand."""
