"""What selection reads: who may be chosen and how likely, as of one moment; never changed, only replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class PriorityTier:
    """Candidates of one priority that were open."""

    priority: int
    positions: tuple[int, ...]
    cumulative_weights: tuple[float, ...]
    """Sums of their weights so far: a draw from 0 to the last falls on each as often as its weight says."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All candidates of a group."""

    taken: float
    """When the oldest of it was seen."""
    weights: tuple[float, ...]
    """Of each candidate; 0 while it is shut."""
    reopens_at: tuple[float, ...]
    """When each that is shut may open; infinite for those that are open, or will not by themselves."""
    tiers: tuple[PriorityTier, ...]
    """Of those that are open, the first to be used first."""
    next_reopening: float
    """When the next of them may open."""

    @classmethod
    def build(
        cls, taken: float, weights: Sequence[float], opens: Sequence[float], standing: Mapping[int, Sequence[int]]
    ) -> Self:
        """Put together what was seen; `standing` holds the positions of each priority."""
        tiers = []
        for priority in sorted(standing):
            positions = tuple([position for position in standing[priority] if weights[position] > 0])
            if positions:
                tiers.append(
                    PriorityTier(priority, positions, tuple(accumulate([weights[each] for each in positions])))
                )
        return cls(taken, tuple(weights), tuple(opens), tuple(tiers), min(opens, default=math.inf))

    def patched(self, changed: Mapping[int, tuple[float, float]], standing: Mapping[int, Sequence[int]]) -> Snapshot:
        """Return it with the weights and openings of some candidates as they are now."""
        weights, opens = list(self.weights), list(self.reopens_at)
        for position, (weight, opening) in changed.items():
            weights[position], opens[position] = weight, opening
        return Snapshot.build(self.taken, weights, opens, standing)
