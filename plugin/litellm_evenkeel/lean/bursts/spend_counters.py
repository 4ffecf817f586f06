"""Spend counters that all waiting requests read together once Redis has lost them.

Spend counters in Redis expire. The next requests read them from the database. LiteLLM lets them do so one after the
other, with a query for each, because each relies on its own earlier read of Redis. If a hundred requests wait for the
counter of their key, the last one waits for a hundred queries.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from litellm.proxy.db.spend_counter_reseed import SpendCounterReseed
from litellm.proxy.spend_tracking.spend_counter_batch import (
    read_batched_spend_counter,
    record_spend_counter_value,
    spend_counter_batch_scope,
)

from litellm_evenkeel.lean.bursts.shared_reads import SharedReads
from litellm_evenkeel.lean.parameters import require_parameters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    ReadCounter = Callable[..., Awaitable[float | None]]

# Names of the parameter that has the counters, since LiteLLM 1.109 and before.
STORE, CACHE = "spend_counter_store", "spend_counter_cache"
# Counters of these kinds are in a row of the database. Without a value of one, the database has failed.
OF_ROWS = tuple(f"spend:{kind}:" for kind in ("key", "team", "team_member", "user", "org", "project"))


def share_spend_counter_reads() -> None:
    """Make the requests of this process share their reads of lost spend counters."""
    names = ("coalesced", "coalesced_window")
    functions = [shared(getattr(SpendCounterReseed, name)) for name in names]
    for name, function in zip(names, functions, strict=True):
        setattr(SpendCounterReseed, name, staticmethod(function))


def shared(original: ReadCounter) -> ReadCounter:
    """Return a function that calls `original` once for all concurrent calls with equal arguments.

    Failures are not shared: a call without a result of the shared one calls `original` itself.
    """
    signature = inspect.signature(original)
    require_parameters(original, "counter_key", STORE if STORE in signature.parameters else CACHE)
    reads: SharedReads[tuple[float | None, bool]] = SharedReads()

    async def read_counter(*arguments: Any, **named: Any) -> float | None:
        given = signature.bind(*arguments, **named).arguments
        counter: str = given["counter_key"]
        redis = redis_of(given)
        own = await read_batched_spend_counter(counter)
        if own is not None and own[0] is not None:
            return float(own[0])
        key = tuple(given.values())
        if redis is None or not all(isinstance(value, Hashable) for value in key):
            return await original(*arguments, **named)

        async def read() -> tuple[float | None, bool]:
            # As in a request: `original` reads Redis, and records the value once Redis has it again.
            with spend_counter_batch_scope(redis, frozenset({counter})):
                value = await original(*arguments, **named)
                recorded = await read_batched_spend_counter(counter)
                return value, recorded is not None and recorded[0] == value

        try:
            value, is_as_in_redis = await reads.read(key, read)
        except Exception:  # noqa: BLE001 - the call below raises what this request should get
            value, is_as_in_redis = None, False
        # Redis or the database has failed. What LiteLLM does then depends on what this request has read before.
        if not is_as_in_redis or (value is None and counter.startswith(OF_ROWS)):
            return await original(*arguments, **named)
        if value is not None:
            record_spend_counter_value(counter, value)
        return value

    return read_counter


def redis_of(arguments: Mapping[str, Any]) -> Any:
    """Return what LiteLLM reads counters in Redis with; `None` without Redis."""
    store = arguments.get(STORE)
    if store is not None:
        return store if store.has_redis else None
    return arguments[CACHE].redis_cache
