"""Registries of entities with restrictions, which all waiting requests get at the same time.

LiteLLM caches the names of all access groups, tags and end users that have budgets or restrictions for a minute. Then
one request loads them again. The others wait for a lock, which lets one of them through in each turn of the event loop.
In a busy proxy a turn takes tenths of a second, so the last of a hundred requests waits for many seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from litellm.proxy.auth import auth_checks

from litellm_evenkeel.lean.bursts.shared_reads import SharedReads
from litellm_evenkeel.lean.parameters import require_parameters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Registry = frozenset[str] | None
    LoadRegistry = Callable[..., Awaitable[Registry]]


def share_registry_loads() -> None:
    """Make the requests of this process share the loads of registries."""
    auth_checks._load_bounded_registry = shared(auth_checks._load_bounded_registry)  # noqa: SLF001 - nothing else loads them


def shared(original: LoadRegistry) -> LoadRegistry:
    """Return a function that calls `original` once for all requests that find no registry in the cache."""
    require_parameters(original, "cache_key", "overflow_sentinel", "user_api_key_cache")
    loads: SharedReads[Registry] = SharedReads()

    async def load_registry(
        *, cache_key: str, overflow_sentinel: str, user_api_key_cache: Any, **named: Any
    ) -> Registry:
        cached = await auth_checks._cached_registry(cache_key, overflow_sentinel, user_api_key_cache)  # noqa: SLF001
        if not isinstance(cached, auth_checks._RegistryNotCached):  # noqa: SLF001
            return cast("Registry", cached)
        of_cache = {
            "cache_key": cache_key,
            "overflow_sentinel": overflow_sentinel,
            "user_api_key_cache": user_api_key_cache,
        }
        return await loads.read(cache_key, lambda: original(**of_cache, **named))

    return load_registry
