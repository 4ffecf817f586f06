"""Smooth weighted round robin: each account as often as its weight says, evenly spread.

Each candidate has a due time in turns. A pick moves it 1/weight further, and the one that is due first is next. A heap
finds it. Candidates start at different points, or those of equal weights would come in bursts.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.selection.strategies.base import Random, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityLevel, Snapshot
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# The fractional parts of its multiples are spread as evenly as can be, however many there are.
GOLDEN_RATIO = 0.618033988749895


class Weighted(Strategy):
    """Ranks by due time."""

    def __init__(self, deployments: Sequence[DeploymentState]) -> None:
        super().__init__(deployments)
        self._due: dict[int, float] = {}
        self._weights: tuple[float, ...] = ()
        self._heaps: dict[int, list[tuple[float, int]]] = {}
        self._turn = 0.0

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Rebuild the heaps. A candidate that comes back starts now, without the turns that it missed."""
        self._weights = snapshot.weights
        due = {}
        for level in snapshot.levels:
            for position in level.positions:
                due[position] = max(self._due.get(position, 0.0), self._turn - 1 / self._weights[position])
                if position not in self._due:
                    due[position] = self._turn + position * GOLDEN_RATIO % 1 / self._weights[position]
        self._due = due
        self._heaps = {}
        for level in snapshot.levels:
            heap = [(due[position], position) for position in level.positions]
            heapq.heapify(heap)
            self._heaps[level.priority] = heap

    def rank(self, level: PriorityLevel, request: PickRequest, now: float, random: Random) -> Iterator[int]:
        """Yield the positions by due time."""
        del request, now, random
        heap = self._heaps.get(level.priority, [])
        popped = []
        try:
            while heap:
                due, position = heapq.heappop(heap)
                if due != self._due[position]:
                    # It was picked since this entry was pushed.
                    heapq.heappush(heap, (self._due[position], position))
                    continue
                popped.append(position)
                yield position
        finally:
            # Also if the caller stops reading.
            for position in popped:
                heapq.heappush(heap, (self._due[position], position))

    def on_pick(self, position: int) -> None:
        """Move the due time of a candidate further."""
        if position not in self._due:
            # It was blocked when the snapshot was built.
            return
        self._turn = max(self._turn, self._due[position])
        self._due[position] += 1 / self._weights[position]

    def score(self, position: int, request: PickRequest, now: float) -> float:
        """Return how overdue it is, in turns."""
        del request, now
        return self._turn - self._due.get(position, self._turn)
