"""When requests are due: seconds from the start, known before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Times = npt.NDArray[np.float64]

# Room for what a random number of arrivals may be beyond its mean.
SIGMAS = 8
MOST = 50_000_000


class Arrivals(Protocol):
    """One kind of schedule."""

    def times(self, seed: int) -> Times:
        """Return when each request is due, in order, from the first one on."""


@dataclass(frozen=True)
class Extent:
    """How much: so many requests, or for so many seconds; whichever ends first if both are given."""

    requests: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.requests is None and self.seconds is None:
            raise LoadConfigError("Nothing says when the load ends.", hint="Give --requests or --duration.")

    def enough(self, rate: float, cv: float = 1.0) -> int:
        """Return how many arrivals are certainly enough, given their rate and how much their gaps vary."""
        if self.seconds is None:
            return self.possible(self.requests)
        mean = rate * self.seconds
        return self.possible(int(mean + SIGMAS * max(cv, 1.0) * (np.sqrt(mean) + max(cv, 1.0))))

    def possible(self, count: int | None) -> int:
        """Return how many of so many arrivals are to be drawn."""
        found = min(number for number in (count, self.requests) if number is not None)
        if found > MOST:
            raise LoadConfigError(f"{found:,} requests are more than a schedule holds.", hint="Shorten the load.")
        return found

    def cut(self, times: Times) -> Times:
        """Return what lies within."""
        if self.seconds is not None:
            times = times[: np.searchsorted(times, self.seconds)]
        return times[: self.requests]


def random_source(seed: int, name: str) -> np.random.Generator:
    """Return a source of randomness for one kind of schedule."""
    return np.random.default_rng([seed, *name.encode()])


def shard(times: Times, index: int, count: int) -> Iterator[tuple[int, float]]:
    """Return number and time of every request that one of so many processes sends."""
    return zip(range(index, len(times), count), times[index::count].tolist(), strict=True)
