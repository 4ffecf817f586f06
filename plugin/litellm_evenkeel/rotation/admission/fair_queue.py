"""Those who wait for an account: each client in its turn, so that who asks for much does not keep the others out."""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

Waiter = TypeVar("Waiter", bound=Hashable)

# Entries of those who have left are swept out when there are so many times as many as who stand there, and a few more.
SWEPT_TIMES, SWEPT_FROM = 2, 64


class OfferResult(Enum):
    """What one who waits says to an offer."""

    ACCEPTED = "taken"
    SKIPPED = "passed"
    """There is nothing for it now; there may be for those behind it of the same client."""
    BLOCKED = "kept"
    """There is nothing for it now, nor is it for those behind it."""


class FairQueue(Generic[Waiter]):
    """Waiters by client, each with how much it needs; clients take turns, and the requests of one are in order."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, dict[Waiter, None]] = OrderedDict()
        self._length = 0
        self._needs: list[tuple[float, int, str, Waiter]] = []
        """A heap, in which those who have left stay until they come to its top."""
        self._numbers = count()

    def __len__(self) -> int:
        return self._length

    def add(self, client: str, waiter: Waiter, needs: float = 0.0) -> None:
        """Stand behind the others of the same client."""
        self._clients.setdefault(client, {})[waiter] = None
        self._length += 1
        if len(self._needs) > SWEPT_TIMES * self._length + SWEPT_FROM:
            self._needs = [entry for entry in self._needs if self._stands(entry)]
            heapify(self._needs)
        heappush(self._needs, (needs, next(self._numbers), client, waiter))

    def remove(self, client: str, waiter: Waiter) -> bool:
        """Go away, served or not; return whether one stood there."""
        waiters = self._clients.get(client)
        if waiters is None or waiter not in waiters:
            return False
        del waiters[waiter]
        self._length -= 1
        if not waiters:
            del self._clients[client]
        return True

    def __iter__(self) -> Iterator[Waiter]:
        return iter([waiter for waiters in self._clients.values() for waiter in waiters])

    def serve(self, offer: Callable[[Waiter], OfferResult]) -> Iterator[None]:
        """Offer to each client in turn, until nobody takes anything more; whoever drives it may pause after each step.

        Who gets nothing keeps the turn: the next free account is offered to it first. Meanwhile others may come and go;
        clients who come while it pauses are offered nothing.
        """
        turns = deque(self._clients)
        while turns:
            client = turns.popleft()
            for waiter in tuple(self._clients.get(client, ())):
                if waiter not in self._clients.get(client, ()):
                    # It has left while this paused.
                    continue
                answer = offer(waiter)
                if answer is OfferResult.ACCEPTED:
                    self.remove(client, waiter)
                    if client in self._clients:
                        self._clients.move_to_end(client)
                        turns.append(client)
                if answer is not OfferResult.SKIPPED:
                    break
                yield
            yield

    @property
    def least(self) -> float:
        """How much the smallest of those who stand here needs; infinite if nobody does."""
        while self._needs and not self._stands(self._needs[0]):
            heappop(self._needs)
        return self._needs[0][0] if self._needs else math.inf

    @property
    def clients(self) -> int:
        """How many different clients wait."""
        return len(self._clients)

    def _stands(self, entry: tuple[float, int, str, Waiter]) -> bool:
        _, _, client, waiter = entry
        return waiter in self._clients.get(client, ())
