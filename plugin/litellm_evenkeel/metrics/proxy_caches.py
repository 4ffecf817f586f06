"""What the running proxy knows and nobody tells: its own memory of budgets, and what its router says is left.

It is looked at, never imported: outside of a proxy there is none.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.budgets import Budget, BudgetEntity, budget_of, counter_name, row_name
from litellm_evenkeel.litellm_router import SERVER, remaining_usage, running_router
from litellm_evenkeel.support import clock

if TYPE_CHECKING:
    from collections.abc import Mapping


def peek(kind: BudgetEntity, who: str) -> Budget | None:
    """Return what the proxy has in its memory of a budget; raise whatever LiteLLM raises if it has changed."""
    server = sys.modules.get(SERVER)
    rows, counters = getattr(server, "user_api_key_cache", None), getattr(server, "spend_counter_cache", None)
    row_key, counter_key = row_name(kind, who), counter_name(kind, who)
    row = None if rows is None or row_key is None else _in_memory(rows, row_key).get_cache(row_key)
    counter = None if counters is None or counter_key is None else counters.in_memory_cache.get_cache(counter_key)
    return budget_of(kind, row, counter, clock.now())


async def model_group_usage(group: str) -> Mapping[str, Any] | None:
    """Return what the proxy's router says is left of a model group."""
    router = running_router()
    return None if router is None else await remaining_usage(router, group)


def _in_memory(cache: Any, key: str) -> Any:
    """Return the part of a cache that has a key: there are several since LiteLLM 1.102."""
    # Its second name is that of 1.110.
    chosen = getattr(cache, "in_memory_cache_for", None) or getattr(cache, "_python_memory", None)
    return cache.in_memory_cache if chosen is None else chosen(key)
