"""Base of the strategies that compare a few candidates, drawn by weight, instead of all."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar

from litellm_evenkeel.rotation.selection.strategies.base import Random, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.snapshot import PriorityLevel


class SampledStrategy(Strategy):
    """Ranks a few candidates, drawn by weight, by their score."""

    compare_all_up_to: ClassVar[int]
    """Number of candidates up to which all are compared."""
    sample_size: ClassVar[int]
    """Number of candidates that are drawn if there are more."""

    def compared_of(self, number: int) -> int:
        """Return how many candidates are drawn."""
        return number if number <= self.compare_all_up_to else self.sample_size

    def rank(self, level: PriorityLevel, request: PickRequest, now: float, random: Random) -> Iterator[int]:
        """Yield the drawn candidates by score, then the rest."""
        sample = sample_weighted(level, self.compared_of(len(level.positions)), random)
        # The sort is stable: among equals, the one that was drawn first stays first.
        sample.sort(key=lambda position: -self.score(position, request, now))
        return then_rest(sample, level, random)


def sample_weighted(level: PriorityLevel, size: int, random: Random) -> list[int]:
    """Return up to `size` different positions, drawn by weight; all of them if the level has no more than `size`."""
    positions, cumulative = level.positions, level.cumulative_weights
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


def then_rest(first: list[int], level: PriorityLevel, random: Random) -> Iterator[int]:
    """Yield the positions of `first`, then all others of the level, from a random one on."""
    yield from first
    positions = level.positions
    if len(first) == len(positions):
        return
    start = int(random() * len(positions))
    for part in (positions[start:], positions[:start]):
        for position in part:
            if position not in first:
                yield position
