"""Construction of the coordinator from its settings."""

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
    """Return the coordinator of one worker. It connects when it is started.

    `on_capacity` is called whenever an account that was blocked may have capacity again.
    """
    if not settings.url:
        raise SettingsError(
            "shared.url: expected the address of a Redis, got none. Hint: write it as redis://host:6379/0."
        )
    store = RedisLeaseStore(settings.url, settings.prefix, settings.timeout)
    return QuotaCoordinator(store, store, settings, clock=clock, on_capacity=on_capacity)
