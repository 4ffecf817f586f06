"""Read access to the running proxy's memory: its caches of budgets, and its router's remaining limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm_evenkeel import proxy_process
from litellm_evenkeel.budgets import Budget, BudgetEntity, budget_of, counter_name, row_name
from litellm_evenkeel.litellm_router import remaining_usage, running_router
from litellm_evenkeel.support import clock

if TYPE_CHECKING:
    from collections.abc import Mapping


def peek(kind: BudgetEntity, entity_id: str) -> Budget | None:
    """Return a budget from the proxy's memory, `None` if it is not there.

    Any error may be raised if the caches of a new version of LiteLLM differ.
    """
    server = proxy_process.server()
    rows, counters = getattr(server, "user_api_key_cache", None), getattr(server, "spend_counter_cache", None)
    row_key, counter_key = row_name(kind, entity_id), counter_name(kind, entity_id)
    row = None if rows is None or row_key is None else _in_memory(rows, row_key).get_cache(row_key)
    counter = None if counters is None or counter_key is None else counters.in_memory_cache.get_cache(counter_key)
    return budget_of(kind, row, counter, clock.now())


async def model_group_usage(model_group: str) -> Mapping[str, Any] | None:
    """Return what remains of a model group's limits according to the proxy's router; `None` without a router."""
    router = running_router()
    return None if router is None else await remaining_usage(router, model_group)


def _in_memory(cache: Any, key: str) -> Any:
    """Return the part of a cache that holds `key`: since LiteLLM 1.102, there are several."""
    # The second name is that of LiteLLM 1.110.
    select = getattr(cache, "in_memory_cache_for", None) or getattr(cache, "_python_memory", None)
    return cache.in_memory_cache if select is None else select(key)
