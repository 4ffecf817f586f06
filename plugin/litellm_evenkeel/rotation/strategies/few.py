"""What strategies have in common that compare a few candidates by their scores, and remember nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from litellm_evenkeel.rotation.strategies.draws import sample_weighted, then_rest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import PickRequest
    from litellm_evenkeel.rotation.place import DeploymentState
    from litellm_evenkeel.rotation.snapshot import PriorityTier, Snapshot


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
