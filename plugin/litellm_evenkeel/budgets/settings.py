"""How budgets are looked up, as operators may set it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.types import Count, Period, Secret

SCHEMES = ("redis://", "rediss://", "unix://")
OFF, OF_LITELLM = "off", "litellm"


@dataclass(frozen=True, slots=True, repr=False)
class BudgetRedis(Secret):
    """`off`, `litellm` for the Redis that LiteLLM uses, or an address: `redis://`, `rediss://` or `unix://`."""

    @classmethod
    def of(cls, told: object, where: str) -> Self:
        """Read it; a password in it is in no error."""
        # YAML reads a bare `off` as a switch.
        if told is False:
            return cls(OFF)
        if isinstance(told, str) and (told in {OFF, OF_LITELLM} or told.startswith(SCHEMES)):
            return cls(told)
        raise SettingsError(
            f"{where}: this is no address of a Redis. Let it begin with {', '.join(SCHEMES)}, or write litellm or off."
        )

    @property
    def is_off(self) -> bool:
        """Whether there is none."""
        return self.value == OFF

    @property
    def is_of_litellm(self) -> bool:
        """Whether the Redis that LiteLLM uses is meant."""
        return self.value == OF_LITELLM

    def __str__(self) -> str:
        return self.value if self.is_off or self.is_of_litellm else repr(self)


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """All of it."""

    enabled: bool = True
    """Whether there are gauges of budgets at all."""
    database: bool = True
    """Whether LiteLLM's database is asked for what a request does not tell; it is only read."""
    redis: BudgetRedis = BudgetRedis(OFF)
    """Where workers share what they have looked up in the database: off (nowhere), litellm for the Redis that LiteLLM
    uses, or an address."""
    ttl: Period = 30.0
    """After how long a budget is looked up again; each time up to a fifth sooner or later."""
    negative_ttl: Period = 60.0
    """After how long it is looked up again whether somebody exists who did not."""
    most: Count = 10_000
    """How many budgets of each kind are remembered; beyond it, those that were used longest ago are forgotten."""
    timeout: Period = 0.5
    """After how long the database cancels a question."""
    connections: Count = 2
    """How many connections to the database a worker may have."""
