"""The name of the Redis client, which is computed once.

LiteLLM looks its Redis client up for each batch of commands. The name under which it finds the client is a hash of the
connection's settings, which it writes as JSON each time.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from litellm.caching.redis_cache import RedisCache

if TYPE_CHECKING:
    from collections.abc import Callable


def compute_client_name_once() -> None:
    """Make each Redis cache remember the name of its client until the settings of the connection change."""
    RedisCache._get_async_client_cache_key = remembered(RedisCache._get_async_client_cache_key)  # noqa: SLF001 - it has no public name


def remembered(original: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a method that calls `original` only if the connection's settings differ from those of the last call."""
    # Not in the object: LiteLLM shows the fields of a cache to administrators.
    names: WeakKeyDictionary[Any, tuple[dict[str, Any], str]] = WeakKeyDictionary()

    @wraps(original)
    def client_name(self: Any) -> str:
        settings, last = self.redis_kwargs, names.get(self)
        if last is not None and last[0] == settings:
            return last[1]
        name = original(self)
        names[self] = dict(settings), name
        return name

    return client_name
