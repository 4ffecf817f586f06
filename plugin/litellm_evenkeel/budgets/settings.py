"""Settings of budget lookups, `evenkeel.budgets`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.types import Count, Period, Secret

SCHEMES = ("redis://", "rediss://", "unix://")
OFF, LITELLM = "off", "litellm"


@dataclass(frozen=True, slots=True, repr=False)
class BudgetRedis(Secret):
    """`off`, `litellm` for the Redis that LiteLLM uses, or an address: `redis://`, `rediss://` or `unix://`."""

    @classmethod
    def of(cls, value: object, path: str) -> Self:
        """Return the setting from `value`, or raise SettingsError without it: an address may contain a password."""
        # YAML 1.1 reads a bare `off` as `False`.
        if value is False:
            return cls(OFF)
        if isinstance(value, str) and (value in {OFF, LITELLM} or value.startswith(SCHEMES)):
            return cls(value)
        raise SettingsError(
            f"{path}: expected off, litellm or the address of a Redis. Hint: an address begins with "
            f"{', '.join(SCHEMES)}."
        )

    @property
    def is_off(self) -> bool:
        """Whether no Redis is used."""
        return self.value == OFF

    @property
    def uses_litellm_redis(self) -> bool:
        """Whether LiteLLM's own Redis is used."""
        return self.value == LITELLM

    def __str__(self) -> str:
        return self.value if self.is_off or self.uses_litellm_redis else repr(self)


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """Settings of budget gauges and of the lookups behind them."""

    enabled: bool = True
    """Whether to export budget gauges."""
    database: bool = True
    """Whether to look up budgets in LiteLLM's database (read only) when a request's metadata lacks them."""
    redis: BudgetRedis = BudgetRedis(OFF)
    """The Redis through which workers share budgets that they looked up in the database: off, litellm for the Redis
    that LiteLLM uses, or an address."""
    ttl: Period = 30.0
    """Time until a budget is looked up again, varied by up to a fifth."""
    negative_ttl: Period = 60.0
    """Time until the plugin checks again for an entity that did not exist."""
    most: Count = 10_000
    """Maximum number of cached budgets of each kind. Beyond it, the least recently used are evicted."""
    timeout: Period = 0.5
    """Time after which the database cancels a lookup."""
    connections: Count = 2
    """Maximum number of database connections of a worker."""
