"""Results that are remembered for a second, and forgotten at once when what they are made from changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Value = TypeVar("Value")

# How long a result may outlive a change that is not reported.
SECONDS = 1.0
# Clients may ask for any name.
MOST = 1024


class Remembered(Generic[Value]):
    """Results by key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._results: dict[Hashable, tuple[float, Value]] = {}
        self._changes = 0
        self._next_sweep = 0.0

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result for a key, which `make` makes unless it is remembered."""
        now = self._clock()
        known = self._results.get(key)
        if known is not None and now < known[0]:
            return known[1]
        changes, result = self._changes, make()
        # A result that was made from what has changed meanwhile, in another thread, is not kept.
        if changes == self._changes:
            self._make_room(now)
            self._results[key] = now + SECONDS, result
        return result

    def _make_room(self, now: float) -> None:
        """Remove the results that are too old, once in a second; a list may be large."""
        if now >= self._next_sweep:
            self._next_sweep = now + SECONDS
            # In place: another thread may forget all results meanwhile, and none of them may come back.
            for key in [key for key, known in list(self._results.items()) if now >= known[0]]:
                self._results.pop(key, None)
        if len(self._results) >= MOST:
            self._results.clear()

    def forget(self) -> None:
        """Forget all results: what they are made from has changed."""
        self._changes += 1
        self._results.clear()
