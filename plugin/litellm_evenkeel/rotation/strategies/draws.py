"""Drawing a few candidates out of many, in a time that does not grow with how many there are."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.rotation.snapshot import PriorityTier


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
