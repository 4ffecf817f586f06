"""Events about services that no callback receives.

LiteLLM reports each call of Redis and of the database to its service callbacks, such as `prometheus_system`. For the
event, it searches the call stack for the functions that wanted the call, and validates the event's fields. It does so
also where there is no service callback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import litellm
from litellm._service_logger import ServiceLogging
from litellm.caching import redis_batch, redis_cache

# Before LiteLLM had this function, its search counted frames: one more frame would change what it finds.
from litellm.caching.redis_cache import _caller_frames as _caller_frames  # noqa: PLC0414

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

UNKNOWN = "unknown"
"""Name that LiteLLM reports if its search finds no function."""


def skip_events_without_callbacks() -> None:
    """Make LiteLLM prepare service events only while there is a service callback."""
    find_callers = with_callbacks_only(redis_cache._get_call_stack_info)  # noqa: SLF001
    report = reported_to_callbacks_only(ServiceLogging.async_service_success_hook)
    for module in (redis_cache, redis_batch):
        module._get_call_stack_info = find_callers  # noqa: SLF001
    ServiceLogging.async_service_success_hook = report


def with_callbacks_only(original: Callable[..., str]) -> Callable[..., str]:
    """Return a function that calls `original` only while there is a service callback."""

    def find_callers(*arguments: Any, **named: Any) -> str:
        return original(*arguments, **named) if litellm.service_callback else UNKNOWN

    return find_callers


def reported_to_callbacks_only(original: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return a hook that calls `original` only while there is a service callback."""

    async def report(*arguments: Any, **named: Any) -> None:
        if litellm.service_callback:
            await original(*arguments, **named)

    return report
