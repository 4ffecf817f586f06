"""Fair queue: clients take turns, and the requests of one client are served first in, first out."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import Generic, TypeVar

Waiter = TypeVar("Waiter", bound=Hashable)


class OfferResult(Enum):
    """Result of an offer to a queued request."""

    ACCEPTED = "accepted"
    BLOCKED = "blocked"
    """It cannot be served now, so the client's later requests cannot either."""
    GONE = "gone"
    """It no longer waits."""


class FairQueue(Generic[Waiter]):
    """Queued requests by client."""

    def __init__(self) -> None:
        self._clients: OrderedDict[Hashable, dict[Waiter, None]] = OrderedDict()
        """In the order of their turns."""
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Waiter]:
        return iter([waiter for waiters in self._clients.values() for waiter in waiters])

    def add(self, client: Hashable, waiter: Waiter) -> None:
        """Add a request behind the others of its client."""
        self._clients.setdefault(client, {})[waiter] = None
        self._length += 1

    def remove(self, client: Hashable, waiter: Waiter) -> bool:
        """Remove a request. Return whether it was in the queue."""
        waiters = self._clients.get(client)
        if waiters is None or waiter not in waiters:
            return False
        del waiters[waiter]
        self._length -= 1
        if not waiters:
            del self._clients[client]
        return True

    def heads(self) -> Iterator[Waiter]:
        """Yield the first request of each client."""
        return (next(iter(waiters)) for waiters in self._clients.values())

    def serve(self, offer: Callable[[Waiter], OfferResult]) -> Iterator[None]:
        """Offer capacity to the first request of each client in turn, until no client accepts any more.

        A client that accepted goes to the end; a blocked one keeps its turn for the next round. The caller may pause
        after each step. Requests may be added and removed during a round; new clients are offered nothing in it.
        """
        turns = deque(self._clients)
        while turns:
            client = turns.popleft()
            result = OfferResult.GONE
            while result is OfferResult.GONE and client in self._clients:
                waiter = next(iter(self._clients[client]))
                result = offer(waiter)
                if result is not OfferResult.BLOCKED:
                    self.remove(client, waiter)
            if result is OfferResult.ACCEPTED and client in self._clients:
                self._clients.move_to_end(client)
                turns.append(client)
            yield
