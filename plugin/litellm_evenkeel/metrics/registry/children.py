"""Single series: plain numbers, for those who hold them."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import RLock
    from typing import Protocol

    class Home(Protocol):
        """Where a series belongs."""

        lock: RLock

        def defer(self, child: Child, value: float | None) -> bool:
            """Keep what is set in the order of events that wait; return whether it does."""


Labels = tuple[str, ...]
"""The values of a series' labels, in the order of their names."""


class Child:
    """One series. Its number is None where it has none, or no longer."""

    __slots__ = ("__weakref__", "at", "created", "home", "labels", "value")

    def __init__(self, home: Home, labels: Labels, value: float | None = None) -> None:
        self.home, self.labels, self.value = home, labels, value
        self.created = self.at = time.time()
        """When it was made, and when it was heard of last."""

    def inc(self, amount: float = 1) -> None:
        """Add so much."""
        with self.home.lock:
            self.add(amount)
            self.at = time.time()

    def set(self, value: float) -> None:
        """Let it be so much."""
        value = float(value)
        if not self.home.defer(self, value):
            with self.home.lock:
                self.put(value, time.time())

    def put(self, value: float | None, now: float) -> None:
        """Let it be so much, or gone, for a caller that has the lock."""
        self.value, self.at = value, now

    def add(self, amount: float) -> None:
        """Add so much, for a caller that has the lock."""
        self.value = (self.value or 0.0) + amount


class GaugeChild(Child):
    """A series that goes up and down."""

    __slots__ = ()

    def dec(self, amount: float = 1) -> None:
        """Take so much away."""
        self.inc(-amount)


class CounterChild(Child):
    """A series that only grows."""

    __slots__ = ()

    def inc(self, amount: float = 1) -> None:
        """Add so much."""
        grown(amount)
        super().inc(amount)


class HistogramChild(Child):
    """A series of how often what was observed."""

    __slots__ = ("bounds", "counts")

    def __init__(self, home: Home, labels: Labels, bounds: tuple[float, ...]) -> None:
        super().__init__(home, labels, 0.0)
        self.bounds = bounds
        self.counts = [0] * len(bounds)

    def observe(self, amount: float) -> None:
        """Know of one more."""
        with self.home.lock:
            self.observed(amount)
            self.at = time.time()

    def observed(self, amount: float) -> None:
        """Know of one more, for a caller that has the lock."""
        # What is no number is in no bucket, as with the client; the last of them has no end.
        if amount == amount:  # noqa: PLR0124 - not so of what is no number
            self.counts[bisect_left(self.bounds, amount)] += 1
        self.add(amount)


def grown(amount: float) -> None:
    """Raise for what would let a counter shrink."""
    if amount < 0:
        raise ValueError("Counters can only be incremented by non-negative amounts.")
