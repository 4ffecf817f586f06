"""The name of the Redis client: that of LiteLLM, computed again only when the settings of the connection change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from litellm.caching import redis_cache
from litellm.caching.redis_cache import RedisCache

from litellm_evenkeel.lean.redis_client import compute_client_name_once

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "_get_async_client_cache_key"
SETTINGS = {"host": "127.0.0.1", "port": 6379, "password": "hush", "startup_nodes": None}


@pytest.fixture
def client_name(monkeypatch: pytest.MonkeyPatch) -> Callable[[RedisCache], str]:
    """Make the change. Return the method."""
    monkeypatch.setattr(RedisCache, NAME, getattr(RedisCache, NAME))
    compute_client_name_once()
    method: Callable[[RedisCache], str] = getattr(RedisCache, NAME)
    return method


def cache(**settings: Any) -> RedisCache:
    """Return a cache that has no connection."""
    made = RedisCache.__new__(RedisCache)
    made.redis_kwargs = {**SETTINGS, **settings}
    return made


def test_the_name_is_that_of_litellm_and_is_computed_once(
    client_name: Callable[[RedisCache], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    redis, other = cache(), cache(port=6380)
    expected = [client_name.__wrapped__(one) for one in (redis, other)]  # type: ignore[attr-defined]
    assert [client_name(redis), client_name(other)] == expected
    monkeypatch.setattr(redis_cache.json, "dumps", lambda *_, **__: pytest.fail("the name was computed again"))
    assert [client_name(redis), client_name(other)] == expected


def test_other_settings_give_another_name(client_name: Callable[[RedisCache], str]) -> None:
    redis = cache()
    name = client_name(redis)
    redis.redis_kwargs["password"] = "changed"
    assert client_name(redis) != name
    redis.redis_kwargs["password"] = SETTINGS["password"]
    assert client_name(redis) == name
