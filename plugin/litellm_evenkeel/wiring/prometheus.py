"""The Prometheus callback of a worker."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from litellm_evenkeel import addresses, admin
from litellm_evenkeel.budgets import health, load_drivers, opened
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.metrics.ablation import AblatedPrometheusLogger
from litellm_evenkeel.metrics.callback import STOCK, EvenkeelPrometheusLogger, default_customer_budget
from litellm_evenkeel.metrics.folder import prepare
from litellm_evenkeel.metrics.mounting import mount
from litellm_evenkeel.metrics.terms import Ablation
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.wiring.config import callbacks, of_proxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.budgets import Budgets, BudgetTerms, Listener, Peek


def prometheus() -> EvenkeelPrometheusLogger:
    """Make the callback of this worker."""
    if STOCK in callbacks():
        raise SettingsError(
            f"litellm_settings: {STOCK!r} stands beside litellm_evenkeel.proxy.prometheus, and both would count each "
            f"request. Remove {STOCK!r}: ours has the same series."
        )
    config = of_proxy()
    own = settings(config.get(SECTION))

    def budgets(listener: Listener, peek: Peek) -> Budgets:
        return _budgets(own.budgets, config, listener, peek)

    skips = own.metrics.ablation is Ablation.SKIP_BUDGETS or not own.budgets.enabled
    kind = EvenkeelPrometheusLogger if own.metrics.ablation is Ablation.OFF else AblatedPrometheusLogger
    if not skips:
        load_drivers()
    folder = prepare()
    made = kind(terms=own.metrics, open_budgets=None if skips else budgets, folder=folder)
    mount(made, folder)
    admin.install_health(lambda: _health(made))
    return made


def _health(callback: EvenkeelPrometheusLogger) -> dict[str, Any]:
    counts = callback.budget_counts()
    return {"enabled": False} if counts is None else {"enabled": True, **health(counts)}


def _budgets(terms: BudgetTerms, config: Mapping[str, Any], listener: Listener, peek: Peek) -> Budgets:
    where = f"{SECTION}.budgets"

    def database() -> str:
        # Read anew for each connection: whoever rotates passwords writes the new one there.
        return addresses.postgres(of_proxy(), os.environ, where)

    has_database = True
    try:
        database()
    except SettingsError:
        has_database = False
    redis = addresses.redis(config, os.environ, f"{where}.redis") if terms.redis.is_of_litellm else terms.redis.value
    return opened(
        terms,
        time.time,
        database=database if has_database else None,
        redis=redis,
        default_customer_budget=default_customer_budget,
        peek=peek,
        listener=listener,
    )
