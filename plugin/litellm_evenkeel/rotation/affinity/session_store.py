"""Where pins are kept for other workers and for later: one file each, all of them `Pins`."""

from __future__ import annotations

from typing import Protocol


class SessionStore(Protocol):
    """Pins that may outlive a worker. What goes wrong with them is raised; `remote` answers for it."""

    async def get(self, key: str) -> str | None:
        """Return the account that a session is pinned to."""

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        """Pin a session for so many seconds, and return the account that it is pinned to afterwards.

        With `only_if_absent`, a pin to another account stays as it is; one to this account goes on.
        """

    async def drop_account(self, account: str) -> None:
        """Forget all pins of an account."""

    async def close(self) -> None:
        """Let go of the server; nothing is asked afterwards."""
