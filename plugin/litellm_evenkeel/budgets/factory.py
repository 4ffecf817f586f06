"""Budgets as the settings say. No server is asked before it is needed."""

from __future__ import annotations

import importlib
import random as chance
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
    database: Callable[[], str] | None = None,
    redis: str | None = None,
    prefix: str = "evenkeel",
    default_customer_budget: Callable[[], str | None] = lambda: None,
    peek: Peek = lambda *_: None,
    listener: Listener = lambda *_: None,
    random: Callable[[], float] = chance.random,
) -> BudgetCache:
    """Return one worker's budgets.

    `database` tells the address of LiteLLM's database whenever a connection is made, and `redis` is that of the
    settings, or LiteLLM's where they say so; either may be None if there is none. `clock` tells seconds since 1970.
    """
    failures = SourceFailures(clock)
    loader = None
    if settings.database and database:
        from litellm_evenkeel.budgets.postgres import PostgresBudgets  # noqa: PLC0415 - a driver

        tables = PostgresBudgets(
            database,
            clock,
            timeout=settings.timeout,
            connections=settings.connections,
            default_budget=default_customer_budget,
        )
        # What is known is to be fresh again within one TTL of a server's recovery.
        breaker = CircuitBreaker(random, settings.ttl)
        line = GuardedSource(Source.POSTGRES, tables, tables.patience, failures, clock, breaker)
        shared = _shared(settings, redis, prefix, failures, clock, random)
        loader = Loader(line, shared, failures, most=max(settings.most, 1), clock=clock)
    return BudgetCache(settings, failures, loader, peek=peek, listener=listener, random=random)


def load_drivers() -> None:
    """Import what talks to servers; otherwise that is done when budgets are opened, in the middle of a request."""
    for driver in ("postgres", "redis"):
        importlib.import_module(f"litellm_evenkeel.budgets.{driver}")


def _shared(
    settings: BudgetSettings,
    url: str | None,
    prefix: str,
    failures: SourceFailures,
    clock: Callable[[], float],
    random: Callable[[], float],
) -> GuardedCache | None:
    if settings.redis.is_off or not url:
        return None
    from litellm_evenkeel.budgets.redis import PATIENCE_SECONDS, RedisBudgets  # noqa: PLC0415 - a driver

    store = RedisBudgets.of(url, clock, ttl=settings.ttl, negative_ttl=settings.negative_ttl, prefix=prefix)
    return GuardedCache(Source.REDIS, store, PATIENCE_SECONDS, failures, clock, CircuitBreaker(random, settings.ttl))
