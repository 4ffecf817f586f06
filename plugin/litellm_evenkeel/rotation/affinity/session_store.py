"""Stores that share pins between workers: their interface, and the store that the settings configure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from litellm_evenkeel.rotation.affinity.postgres_store import PostgresSessionStore
from litellm_evenkeel.rotation.affinity.redis_store import RedisSessionStore
from litellm_evenkeel.rotation.settings import SessionBackend
from litellm_evenkeel.support.redis_connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.settings import AffinitySettings

CONNECT_TIMEOUT_SECONDS = 2.0


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


def open_session_store(
    settings: AffinitySettings, clock: Callable[[], float], prefix: str = "evenkeel"
) -> SessionStore | None:
    """Return the store of pins; `None` if each worker keeps its own. This does not connect to a server yet."""
    if settings.backend is SessionBackend.MEMORY:
        return None
    url = settings.url.get_secret_value()
    if settings.backend is SessionBackend.REDIS:
        return RedisSessionStore(RedisConnection(url, connect_timeout=CONNECT_TIMEOUT_SECONDS), prefix)
    return PostgresSessionStore(url, clock)
