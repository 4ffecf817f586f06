"""Who a request says that it comes from."""

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol

FOREVER = 0


class Mode(Protocol):
    """One way of filling a request's `user` field."""

    def id_of(self, user: int, turn: int) -> str | None:
        """Return the id that a simulated user sends with its turn-th request; None for no field at all."""


def identity(seed: int, run: str, user: int, turn: int, requests_per_user: int) -> str:
    """Return an id that a simulated user keeps for so many requests (0: for ever), another one in each run."""
    period = turn // requests_per_user if requests_per_user else 0
    return blake2b(f"{seed} {run} {user} {period}".encode(), digest_size=8).hexdigest()
