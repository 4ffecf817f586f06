"""Those who wait for an account: each client in its turn, so that who asks for much does not keep the others out."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Waiter = TypeVar("Waiter")


class Line(Generic[Waiter]):
    """Waiters by client; clients take turns, the requests of one client keep their order."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, deque[Waiter]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def join(self, client: str, waiter: Waiter) -> None:
        """Stand behind the others of the same client."""
        self._clients.setdefault(client, deque()).append(waiter)
        self._length += 1

    def leave(self, client: str, waiter: Waiter) -> bool:
        """Go away, served or not; return whether one stood there."""
        waiters = self._clients.get(client)
        if waiters is None or waiter not in waiters:
            return False
        waiters.remove(waiter)
        self._length -= 1
        if not waiters:
            del self._clients[client]
        return True

    def serve(self, give: Callable[[Waiter], bool]) -> int:
        """Offer to the first of each client in turn, until nobody takes anything more; return how many did.

        Who could not be served keeps the turn: the next free account is offered to it first.
        """
        served = 0
        passed: dict[str, None] = {}
        while len(passed) < len(self._clients):
            client = next(iter(self._clients))
            self._clients.move_to_end(client)
            if client in passed:
                continue
            waiters = self._clients[client]
            if not give(waiters[0]):
                passed[client] = None
                continue
            waiters.popleft()
            self._length -= 1
            served += 1
            if not waiters:
                del self._clients[client]
        for client in reversed(passed):
            self._clients.move_to_end(client, last=False)
        return served

    @property
    def clients(self) -> int:
        """How many different clients wait."""
        return len(self._clients)
