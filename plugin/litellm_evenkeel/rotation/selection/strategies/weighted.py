"""Each as often as its weight says, evenly spread: nobody gets two in a row while another is due.

Each candidate has a point at which it is due, and goes 1/weight further each time it is chosen; the one that is due
first is next. That is the smooth weighted round robin, for the price of a heap. They begin at different points of their
way, or those of equal weights would always come all at once.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityTier, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Its multiples, less the whole numbers, are spread as evenly as can be, however many there are.
GOLDEN = 0.618033988749895


class Weighted:
    """Smooth weighted round robin."""

    is_by_turn = True

    def __init__(self, random: Callable[[], float]) -> None:
        del random
        self._due: dict[int, float] = {}
        self._weights: tuple[float, ...] = ()
        self._heaps: dict[int, list[tuple[float, int]]] = {}
        self._now = 0.0

    def weight(self, deployment: DeploymentState, now: float) -> float:
        """Return what the operator wrote."""
        del now
        return deployment.spec.weight

    def on_snapshot(self, snapshot: Snapshot, deployments: Sequence[DeploymentState]) -> None:
        """Let those that come back begin now, not with all that they have missed."""
        del deployments
        self._weights = snapshot.weights
        due = {}
        for tier in snapshot.tiers:
            for position in tier.positions:
                due[position] = max(self._due.get(position, 0.0), self._now - 1 / self._weights[position])
                if position not in self._due:
                    due[position] = self._now + position * GOLDEN % 1 / self._weights[position]
        self._due = due
        self._heaps = {}
        for tier in snapshot.tiers:
            heap = [(due[position], position) for position in tier.positions]
            heapq.heapify(heap)
            self._heaps[tier.priority] = heap

    def rank(
        self, tier: PriorityTier, deployments: Sequence[DeploymentState], request: PickRequest, now: float
    ) -> Iterator[int]:
        """Yield them in the order in which they are due."""
        del deployments, request, now
        heap = self._heaps.get(tier.priority, [])
        passed = []
        try:
            while heap:
                due, position = heapq.heappop(heap)
                if due != self._due[position]:
                    # A session has taken it out of its turn.
                    heapq.heappush(heap, (self._due[position], position))
                    continue
                passed.append(position)
                yield position
        finally:
            # Also when nobody looks any further: `chosen` has moved on the one that was taken.
            for position in passed:
                heapq.heappush(heap, (self._due[position], position))

    def on_pick(self, position: int) -> None:
        """Put it further back."""
        if position not in self._due:
            # It was shut when the snapshot was made.
            return
        self._now = max(self._now, self._due[position])
        self._due[position] += 1 / self._weights[position]

    def draws(self, tier: PriorityTier) -> bool:
        """Return that nothing is left to chance."""
        del tier
        return False

    def twin(self, random: Callable[[], float]) -> Weighted:
        """Return one that remembers the same."""
        found = Weighted(random)
        found._due, found._weights, found._now = dict(self._due), self._weights, self._now
        found._heaps = {priority: list(heap) for priority, heap in self._heaps.items()}
        return found

    def score(self, position: int, deployment: DeploymentState, request: PickRequest, now: float) -> float:
        """Return how overdue it is."""
        del deployment, request, now
        return self._now - self._due.get(position, self._now)
