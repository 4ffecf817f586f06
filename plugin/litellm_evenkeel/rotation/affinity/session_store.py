"""Interface of the stores that share pins between workers; each store has a module of its own."""

from __future__ import annotations

from typing import Protocol


class SessionStore(Protocol):
    """Store of pins that may outlive a worker. Errors are raised; `replicator` handles them."""

    async def get(self, key: str) -> str | None:
        """Return the account that a session is pinned to; `None` without a pin."""

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        """Pin a session for `ttl` seconds, and return the account that it is pinned to afterwards.

        With `only_if_absent`, a pin to another account is kept, and one to this account is prolonged.
        """

    async def drop_account(self, account: str) -> None:
        """Forget all pins of an account."""

    async def close(self) -> None:
        """Close the connections. The store is not used afterwards."""
