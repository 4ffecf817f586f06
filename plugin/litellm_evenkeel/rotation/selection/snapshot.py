"""Snapshot: immutable weights of the candidates of a set, as of one moment. A newer one replaces it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class PriorityLevel:
    """Available candidates of one priority."""

    priority: int
    positions: tuple[int, ...]
    cumulative_weights: tuple[float, ...]
    """Running sums of their weights, for weighted draws: a random number up to the last sum falls to one of them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Weights and availability of all candidates of a set."""

    taken: float
    """Time of the last rebuild. Candidates that were patched since are newer."""
    weights: tuple[float, ...]
    """Weight of each candidate; 0 while it is blocked."""
    reopens_at: tuple[float, ...]
    """Time at which each blocked candidate may be available again; `inf` if available, or if waiting does not help."""
    levels: tuple[PriorityLevel, ...]
    """Available candidates by priority; lower is used first."""
    next_reopening: float
    """Time at which the next blocked candidate may be available again; `inf` if none."""

    @classmethod
    def build(
        cls,
        taken: float,
        weights: Sequence[float],
        reopens_at: Sequence[float],
        by_priority: Mapping[int, Sequence[int]],
    ) -> Self:
        """Build a snapshot from the measured candidates; `by_priority` has the positions of each priority."""
        levels = []
        for priority in sorted(by_priority):
            positions = tuple([position for position in by_priority[priority] if weights[position] > 0])
            if positions:
                levels.append(
                    PriorityLevel(priority, positions, tuple(accumulate([weights[position] for position in positions])))
                )
        return cls(taken, tuple(weights), tuple(reopens_at), tuple(levels), min(reopens_at, default=math.inf))

    def patched(self, changed: Mapping[int, tuple[float, float]], by_priority: Mapping[int, Sequence[int]]) -> Snapshot:
        """Return a copy in which the candidates in `changed` have another weight and time of reopening."""
        weights, reopens_at = list(self.weights), list(self.reopens_at)
        for position, (weight, reopening) in changed.items():
            weights[position], reopens_at[position] = weight, reopening
        return Snapshot.build(self.taken, weights, reopens_at, by_priority)
