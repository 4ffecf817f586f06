"""What a strategy is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.asked import PickRequest
    from litellm_evenkeel.rotation.place import DeploymentState
    from litellm_evenkeel.rotation.snapshot import PriorityTier, Snapshot


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
