"""Composition of a worker's Prometheus callback."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from litellm_evenkeel import proxy_process
from litellm_evenkeel.admin import routes
from litellm_evenkeel.budgets import health, load_drivers, open_budgets
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.metrics.callback import LITELLM_CALLBACK, EvenkeelPrometheusLogger, default_customer_budget
from litellm_evenkeel.metrics.endpoint import mount
from litellm_evenkeel.metrics.multiprocess.directory import prepare_folder
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.support import clock
from litellm_evenkeel.support.postgres import database_fingerprint
from litellm_evenkeel.support.redis_address import require_valid_address
from litellm_evenkeel.wiring import server_urls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.budgets import BudgetCache, BudgetSettings, Listener, Peek


def prometheus() -> EvenkeelPrometheusLogger:
    """Create the callback of this worker."""
    if LITELLM_CALLBACK in proxy_process.callbacks():
        raise SettingsError(
            f"litellm_settings: expected one Prometheus callback, got {LITELLM_CALLBACK!r} and "
            "litellm_evenkeel.proxy.prometheus, which would both count each request. "
            f"Hint: remove {LITELLM_CALLBACK!r}; the other one exports the same series."
        )
    config = proxy_process.config()
    own = settings(config.get(SECTION))
    budgets = None
    if own.budgets.enabled:
        load_drivers()
        budgets = functools.partial(_budgets, own.budgets, _redis(own.budgets, config))
    folder = prepare_folder()
    callback = EvenkeelPrometheusLogger(settings=own.metrics, open_budgets=budgets, folder=folder)
    mount(callback, folder)
    routes.install_health("budgets", lambda: _health(callback))
    routes.install_health("metrics", callback.event_counts)
    return callback


def _health(callback: EvenkeelPrometheusLogger) -> dict[str, Any]:
    counts = callback.budget_counts()
    return {"enabled": False} if counts is None else {"enabled": True, **health(counts)}


def _redis(settings: BudgetSettings, config: Mapping[str, Any]) -> str | None:
    """Return the address of the Redis that shares budgets, or `None`. Raise SettingsError for an invalid address."""
    path = f"{SECTION}.budgets.redis"
    if settings.redis.is_off:
        return None
    own = settings.redis
    url = server_urls.redis(config, os.environ, path) if own.is_litellm else own.get_secret_value()
    require_valid_address(url, path)
    return url


def _budgets(settings: BudgetSettings, redis: str | None, listener: Listener, peek: Peek) -> BudgetCache:
    path = f"{SECTION}.budgets"

    def database() -> str:
        # The address is read again for each connection, because a rotated password is written there.
        return server_urls.postgres(proxy_process.config(), os.environ, path)

    try:
        database_id = database_fingerprint(database())
    except SettingsError:
        database_id = None
    return open_budgets(
        settings,
        clock.now,
        database_url=None if database_id is None else database,
        redis_url=redis,
        # Proxies with different databases may share a Redis, and the same id may be another entity in each database.
        prefix=f"evenkeel:{database_id}",
        default_customer_budget=default_customer_budget,
        peek=peek,
        listener=listener,
    )
