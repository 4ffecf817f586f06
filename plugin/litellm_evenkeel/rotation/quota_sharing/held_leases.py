"""Leases of one limit that a worker holds, and the amounts that it has to return to the store."""

from __future__ import annotations

import math
from collections import deque

from litellm_evenkeel.rotation.quota_sharing.protocol import LeaseReturn
from litellm_evenkeel.rotation.state.quota_window import EPSILON


class HeldLeases:
    """Unspent leases, the oldest first. Parts are the store's; times are this worker's clock's."""

    __slots__ = ("_leases", "_returns", "next_expiry", "unspent")

    def __init__(self) -> None:
        self._leases: deque[list[float]] = deque()
        """For each lease: the part in which it was granted, its unspent amount, and the time at which it expires."""
        self._returns: dict[tuple[int, int], float] = {}
        self.unspent = 0.0
        self.next_expiry = math.inf

    @property
    def returned(self) -> float:
        """The amount that waits to be sent back."""
        return sum(self._returns.values())

    def add(self, part: int, amount: float, expires_at: float) -> None:
        """Add a lease."""
        self._leases.append([part, amount, expires_at])
        self._update()

    def spend(self, amount: float) -> float:
        """Spend `amount`, from the oldest lease on. Return the amount that the leases do not cover."""
        while amount > EPSILON and self._leases:
            lease = self._leases[0]
            spent = min(lease[1], amount)
            amount -= spent
            lease[1] -= spent
            if lease[1] <= EPSILON:
                self._leases.popleft()
        self._update()
        return amount

    def expire(self, now: float) -> bool:
        """Give back the leases that expire by `now`; `inf` for all. Return whether amounts wait to be sent."""
        while self._leases and self._leases[0][2] <= now:
            part, amount, _ = self._leases.popleft()
            self.add_return(int(part), int(part), amount)
        self._update()
        return bool(self._returns)

    def reduce_to(self, amount: float) -> None:
        """Give back the newest leases until at most `amount` is held."""
        while self._leases and self.unspent > amount + EPSILON:
            part, unspent, _ = self._leases.pop()
            self.add_return(int(part), int(part), unspent)
            self._update()

    def add_return(self, first: int, last: int, amount: float) -> None:
        """Give back an amount that was granted in one of the parts from `first` to `last`."""
        self._returns[first, last] = self._returns.get((first, last), 0.0) + amount

    def take_returns(self) -> tuple[LeaseReturn, ...]:
        """Return the amounts to send to the store, and forget them."""
        returns = tuple(LeaseReturn(first, last, amount) for (first, last), amount in self._returns.items())
        self._returns = {}
        return returns

    def clear(self) -> None:
        """Forget all leases and returns."""
        self._leases.clear()
        self._returns.clear()
        self._update()

    def _update(self) -> None:
        self.unspent = sum([lease[1] for lease in self._leases])
        self.next_expiry = self._leases[0][2] if self._leases else math.inf
