"""Construction of the budget cache from its settings. No connection is opened before it is needed."""

from __future__ import annotations

import importlib
import random as chance
from functools import partial
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.budget import Source
from litellm_evenkeel.budgets.cache import BudgetCache
from litellm_evenkeel.budgets.loader import Loader
from litellm_evenkeel.budgets.source import GuardedCache, GuardedSource
from litellm_evenkeel.budgets.stats import SourceFailures
from litellm_evenkeel.support.circuit_breaker import CircuitBreaker

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets.cache import Listener, Peek
    from litellm_evenkeel.budgets.settings import BudgetSettings


def open_budgets(
    settings: BudgetSettings,
    clock: Callable[[], float],
    *,
    database_url: Callable[[], str] | None = None,
    redis_url: str | None = None,
    prefix: str = "evenkeel",
    default_customer_budget: Callable[[], str | None] = lambda: None,
    peek: Peek = lambda *_: None,
    listener: Listener = lambda *_: None,
    random: Callable[[], float] = chance.random,
) -> BudgetCache:
    """Return the budget cache of one worker.

    `database_url` returns the address of LiteLLM's database, and is called for every connection. `redis_url` is the
    address from the settings, or LiteLLM's own if they name it. Either is `None` if there is no such server. `clock`
    returns seconds since 1970.
    """
    failures = SourceFailures(clock)
    loader = None
    if settings.database and database_url:
        from litellm_evenkeel.budgets.postgres import PostgresBudgets  # noqa: PLC0415 - a driver

        tables = PostgresBudgets(
            database_url,
            clock,
            timeout=settings.timeout,
            connections=settings.pool_size,
            default_budget=default_customer_budget,
        )
        # No longer pause than one TTL, so that budgets are fresh again within one TTL of a server's recovery.
        breaker = partial(CircuitBreaker, random, max_pause=settings.ttl)
        source = GuardedSource(Source.POSTGRES, tables, tables.total_timeout, failures, clock, breaker())
        shared = None
        if redis_url and not settings.redis.is_off:
            from litellm_evenkeel.budgets.redis import TIMEOUT_SECONDS, RedisBudgets  # noqa: PLC0415 - a driver

            store = RedisBudgets.open(
                redis_url, clock, ttl=settings.ttl, negative_ttl=settings.negative_ttl, prefix=prefix
            )
            shared = GuardedCache(Source.REDIS, store, TIMEOUT_SECONDS, failures, clock, breaker())
        loader = Loader(source, shared, failures, max_waiting=max(settings.max_entries, 1), clock=clock)
    return BudgetCache(settings, failures, loader, peek=peek, listener=listener, random=random)


def load_drivers() -> None:
    """Import the drivers early. Otherwise the cache would import them when it opens, in the middle of a request."""
    for driver in ("postgres", "redis"):
        importlib.import_module(f"litellm_evenkeel.budgets.{driver}")
