"""Single series: plain numbers in plain objects, which callers may keep and update without a label lookup."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import RLock
    from typing import Protocol

    class SeriesStore(Protocol):
        """Store to which a series belongs."""

        lock: RLock

        def defer(self, series: Series, value: float | None) -> bool:
            """Queue `value` behind waiting updates. Return `False` if the caller has to set it itself."""


Labels = tuple[str, ...]
"""Label values of a series, in the order of the family's label names."""


class Series:
    """One series. Its value is `None` if it has none yet, or if it was removed."""

    __slots__ = ("__weakref__", "created_at", "labels", "store", "updated_at", "value")

    def __init__(self, store: SeriesStore, labels: Labels, value: float | None = None) -> None:
        self.store, self.labels, self.value = store, labels, value
        self.created_at = self.updated_at = time.time()
        """Unix times of the creation and of the last update."""

    def inc(self, amount: float = 1) -> None:
        """Add `amount`."""
        with self.store.lock:
            self.add(amount)
            self.updated_at = time.time()

    def set(self, value: float) -> None:
        """Set the value, after all updates that wait in the queue."""
        value = float(value)
        if not self.store.defer(self, value):
            with self.store.lock:
                self.put(value, time.time())

    def put(self, value: float | None, now: float) -> None:
        """Set the value, or remove it if `value` is `None`. The caller holds the lock."""
        self.value, self.updated_at = value, now

    def add(self, amount: float) -> None:
        """Add `amount`. The caller holds the lock."""
        self.value = (self.value or 0.0) + amount


class GaugeSeries(Series):
    """A series that may increase and decrease."""

    __slots__ = ()

    def dec(self, amount: float = 1) -> None:
        """Subtract `amount`."""
        self.inc(-amount)


class CounterSeries(Series):
    """A series that only increases."""

    __slots__ = ()

    def inc(self, amount: float = 1) -> None:
        """Add `amount`; raise `ValueError` if it is negative."""
        require_non_negative(amount)
        super().inc(amount)


class HistogramSeries(Series):
    """A series of observations, counted by bucket. Its value is their sum."""

    __slots__ = ("bounds", "counts")

    def __init__(self, store: SeriesStore, labels: Labels, bounds: tuple[float, ...]) -> None:
        super().__init__(store, labels, 0.0)
        self.bounds = bounds
        self.counts = [0] * len(bounds)

    def observe(self, amount: float) -> None:
        """Add an observation."""
        with self.store.lock:
            self.add_observation(amount)
            self.updated_at = time.time()

    def add_observation(self, amount: float) -> None:
        """Add an observation. The caller holds the lock."""
        # NaN belongs to no bucket, as in the Prometheus client. Any other number does: the last bucket is unbounded.
        if amount == amount:  # noqa: PLR0124 - false for NaN only
            self.counts[bisect_left(self.bounds, amount)] += 1
        self.add(amount)


def require_non_negative(amount: float) -> None:
    """Raise `ValueError` if `amount` would decrease a counter."""
    if amount < 0:
        raise ValueError("Counters can only be incremented by non-negative amounts.")
