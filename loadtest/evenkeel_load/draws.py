"""Random choices that depend on a seed and a number only: they are the same in every run and in every process."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
WORD_BYTES = 8
SCALE = 2.0 ** -(8 * WORD_BYTES)


def uniform(seed: int, name: str, number: int) -> float:
    """Return a number from 0 to below 1."""
    digest = blake2b(f"{seed} {name} {number}".encode(), digest_size=WORD_BYTES).digest()
    return int.from_bytes(digest, "little") * SCALE


@dataclass(frozen=True)
class Mix(Generic[T]):
    """Things with weights."""

    name: str
    things: Sequence[T]
    weights: Sequence[float]

    def choose(self, seed: int, number: int) -> T:
        """Return the thing that is drawn for `number`."""
        if len(self.things) == 1:
            return self.things[0]
        sums = list(accumulate(self.weights))
        return self.things[min(bisect_right(sums, uniform(seed, self.name, number) * sums[-1]), len(sums) - 1)]
