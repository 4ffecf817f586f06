"""Where workers share, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.quota_sharing.coordinator import QuotaCoordinator
from litellm_evenkeel.rotation.quota_sharing.redis_store import RedisLeaseStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.settings import CoordinatorSettings


def open_coordinator(
    settings: CoordinatorSettings, clock: Callable[[], float], on_capacity: Callable[[], None] = lambda: None
) -> QuotaCoordinator:
    """Return one worker's share; no server is asked yet. `freed` is called whenever a full account may have room."""
    if not settings.url:
        raise SettingsError(
            "shared.url: workers share through a Redis. Write its address, such as redis://host:6379/0."
        )
    store = RedisLeaseStore(settings.url, settings.prefix, settings.timeout)
    return QuotaCoordinator(store, store, settings, clock=clock, on_capacity=on_capacity)
