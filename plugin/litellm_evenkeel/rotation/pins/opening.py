"""Which backend keeps the pins, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis.asyncio import Redis

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.pins.postgres import PostgresPins
from litellm_evenkeel.rotation.pins.redis import RedisPins
from litellm_evenkeel.rotation.sticky_terms import Backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.pins import Pins
    from litellm_evenkeel.rotation.sticky_terms import StickyTerms


def opened(terms: StickyTerms, clock: Callable[[], float], prefix: str = "evenkeel") -> Pins | None:
    """Return what keeps the pins; None if each worker keeps its own. No server is asked yet."""
    if terms.backend is Backend.MEMORY:
        return None
    if not terms.url:
        raise SettingsError(f"sticky.url: pins in {terms.backend} need the address of one. Or write backend: memory.")
    opening: dict[Backend, Callable[[str], Pins]] = {
        Backend.REDIS: lambda url: RedisPins(Redis.from_url(url), prefix),
        Backend.POSTGRES: lambda url: PostgresPins(url, clock),
    }
    return opening[terms.backend](terms.url)
