"""Where workers share, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.shared.hub import Shared
from litellm_evenkeel.rotation.shared.redis import RedisStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.shared.terms import Sharing


def opened(terms: Sharing, clock: Callable[[], float], freed: Callable[[], None] = lambda: None) -> Shared:
    """Return one worker's share; no server is asked yet. `freed` is called whenever a full account may have room."""
    if not terms.url:
        raise SettingsError(
            "shared.url: workers share through a Redis. Write its address, such as redis://host:6379/0."
        )
    store = RedisStore(terms.url, terms.prefix, terms.timeout)
    return Shared(store, store, terms, clock=clock, freed=freed)
