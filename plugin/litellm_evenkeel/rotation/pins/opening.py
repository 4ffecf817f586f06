"""Which backend keeps the pins, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis.asyncio import Redis

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.pins.postgres import PostgresSessionStore
from litellm_evenkeel.rotation.pins.redis import RedisSessionStore
from litellm_evenkeel.rotation.sticky_terms import SessionBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.pins import SessionStore
    from litellm_evenkeel.rotation.sticky_terms import AffinitySettings


def open_replicator(
    settings: AffinitySettings, clock: Callable[[], float], prefix: str = "evenkeel"
) -> SessionStore | None:
    """Return what keeps the pins; None if each worker keeps its own. No server is asked yet."""
    if settings.backend is SessionBackend.MEMORY:
        return None
    if not settings.url:
        raise SettingsError(
            f"sticky.url: pins in {settings.backend} need the address of one. Or write backend: memory."
        )
    opening: dict[SessionBackend, Callable[[str], SessionStore]] = {
        SessionBackend.REDIS: lambda url: RedisSessionStore(Redis.from_url(url), prefix),
        SessionBackend.POSTGRES: lambda url: PostgresSessionStore(url, clock),
    }
    return opening[settings.backend](settings.url)
