"""Schedules of open loads: due times in seconds from the start, known before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Times = npt.NDArray[np.float64]

# Standard deviations above the mean that are enough for a random number of arrivals.
SIGMAS = 8
MOST = 50_000_000


class Arrivals(Protocol):
    """Interface of a schedule."""

    def times(self, seed: int) -> Times:
        """Return the due times in order."""


@dataclass(frozen=True)
class Extent:
    """Length of a load: a number of requests, or of seconds. If both are given, the first to be reached ends it."""

    requests: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.requests is None and self.seconds is None:
            raise LoadConfigError("The load has no end.", hint="Give --requests or --duration.")

    def enough(self, rate: float, cv: float = 1.0) -> int:
        """Return a number of arrivals that is certainly enough for a rate and the variation of gaps."""
        if self.seconds is None:
            return self.possible(self.requests)
        mean = rate * self.seconds
        return self.possible(int(mean + SIGMAS * max(cv, 1.0) * (np.sqrt(mean) + max(cv, 1.0))))

    def possible(self, count: int | None) -> int:
        """Return the number of arrivals to draw, at most `count`. Raise if a schedule cannot hold them."""
        arrivals = min(number for number in (count, self.requests) if number is not None)
        if arrivals > MOST:
            raise LoadConfigError(f"{arrivals:,} requests are too many for a schedule.", hint="Shorten the load.")
        return arrivals

    def cut(self, times: Times) -> Times:
        """Return the times within the extent."""
        if self.seconds is not None:
            times = times[: np.searchsorted(times, self.seconds)]
        return times[: self.requests]


def random_source(seed: int, name: str) -> np.random.Generator:
    """Return the random generator of a kind of schedule."""
    return np.random.default_rng([seed, *name.encode()])


def shard(times: Times, index: int, count: int) -> Iterator[tuple[int, float]]:
    """Yield number and due time of the requests of process `index` among `count` processes."""
    return zip(range(index, len(times), count), times[index::count].tolist(), strict=True)
