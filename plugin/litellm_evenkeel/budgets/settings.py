"""Settings of budget lookups, `evenkeel.budgets`."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read by annotation
from typing import ClassVar

from litellm_evenkeel.settings_schema.types import (
    OFF,
    Count,
    OptionalRedisUrl,
    PositiveDuration,
    ServerUrl,
    SettingsModel,
    Switch,
)


class BudgetSettings(SettingsModel):
    """Settings of budget gauges and of the lookups behind them."""

    RENAMED: ClassVar[Mapping[str, str]] = {"most": "max_entries", "connections": "pool_size"}

    enabled: Switch = True
    """Whether to export budget gauges."""
    database: Switch = True
    """Whether to look up budgets in LiteLLM's database (read only) when a request's metadata lacks them."""
    redis: OptionalRedisUrl = ServerUrl(OFF)
    """The Redis through which workers share budgets that they looked up in the database."""
    ttl: PositiveDuration = 30.0
    """Time until a budget is looked up again, varied by up to a fifth."""
    negative_ttl: PositiveDuration = 60.0
    """Time until the plugin checks again for an entity that did not exist."""
    max_entries: Count = 10_000
    """Maximum number of cached budgets of each kind. Beyond it, the least recently used are evicted."""
    timeout: PositiveDuration = 0.5
    """Time after which the database cancels a lookup."""
    pool_size: Count = 2
    """Maximum number of database connections of a worker."""
