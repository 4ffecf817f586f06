"""Dictionary with a maximum size, from which the least recently used entry is evicted."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruDict(OrderedDict[K, V]):
    """Dictionary in order of use, the least recently used entry first.

    Only `put` and `use` count as uses, and only `put` evicts. All other methods are those of `OrderedDict`.
    Code that cannot afford the call of `use` (some 40 ns) calls `get` and `move_to_end` itself.
    """

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self.max_size = max_size

    def use(self, key: K) -> V | None:
        """Return the value of `key` and mark it as used. Return `None` if there is none."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> tuple[K, V] | None:
        """Store `value` and mark `key` as used. Return the entry that was evicted, or `None`."""
        size = len(self)
        self[key] = value
        # A new key is last anyway, and hashing a long tuple once more would take longer than this comparison.
        if len(self) == size:
            self.move_to_end(key)
        return self.popitem(last=False) if len(self) > self.max_size else None
