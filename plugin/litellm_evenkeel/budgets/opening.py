"""Budgets as the settings say. No server is asked before it is needed."""

from __future__ import annotations

import importlib
import random as chance
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.breaker import Breaker
from litellm_evenkeel.budgets.budget import Source
from litellm_evenkeel.budgets.cache import Budgets
from litellm_evenkeel.budgets.failures import Failures
from litellm_evenkeel.budgets.line import Line, StoreLine
from litellm_evenkeel.budgets.loader import Loader

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets.cache import Listener, Peek
    from litellm_evenkeel.budgets.terms import BudgetTerms


def opened(
    terms: BudgetTerms,
    clock: Callable[[], float],
    *,
    database: Callable[[], str] | None = None,
    redis: str | None = None,
    prefix: str = "evenkeel",
    default_customer_budget: Callable[[], str | None] = lambda: None,
    peek: Peek = lambda *_: None,
    listener: Listener = lambda *_: None,
    random: Callable[[], float] = chance.random,
) -> Budgets:
    """Return one worker's budgets.

    `database` tells the address of LiteLLM's database whenever a connection is made, and `redis` is that of the
    settings, or LiteLLM's where they say so; either may be None if there is none. `clock` tells seconds since 1970.
    """
    failures = Failures(clock)
    loader = None
    if terms.database and database:
        from litellm_evenkeel.budgets.postgres import PostgresBudgets  # noqa: PLC0415 - a driver

        tables = PostgresBudgets(
            database,
            clock,
            timeout=terms.timeout,
            connections=terms.connections,
            default_budget=default_customer_budget,
        )
        # What is known is to be fresh again within one TTL of a server's recovery.
        breaker = Breaker(random, terms.ttl)
        line = Line(Source.POSTGRES, tables, tables.patience, failures, clock, breaker)
        shared = _shared(terms, redis, prefix, failures, clock, random)
        loader = Loader(line, shared, failures, most=max(terms.most, 1), clock=clock)
    return Budgets(terms, failures, loader, peek=peek, listener=listener, random=random)


def load_drivers() -> None:
    """Import what talks to servers; otherwise that is done when budgets are opened, in the middle of a request."""
    for driver in ("postgres", "redis"):
        importlib.import_module(f"litellm_evenkeel.budgets.{driver}")


def _shared(
    terms: BudgetTerms,
    url: str | None,
    prefix: str,
    failures: Failures,
    clock: Callable[[], float],
    random: Callable[[], float],
) -> StoreLine | None:
    if terms.redis.is_off or not url:
        return None
    from litellm_evenkeel.budgets.redis import PATIENCE_SECONDS, RedisBudgets  # noqa: PLC0415 - a driver

    store = RedisBudgets.of(url, clock, ttl=terms.ttl, negative_ttl=terms.negative_ttl, prefix=prefix)
    return StoreLine(Source.REDIS, store, PATIENCE_SECONDS, failures, clock, Breaker(random, terms.ttl))
