"""What an operator may decide about the rotation. Whatever is not told has a default that works."""

from __future__ import annotations

import types
from collections.abc import Mapping  # noqa: TC003 - settings are read by their annotations
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.reading.kinds import Count, Period, Positive, Seconds, Secret
from litellm_evenkeel.rotation.holds import CooldownSettings
from litellm_evenkeel.rotation.limits import Limits  # noqa: TC001 - read by annotation
from litellm_evenkeel.rotation.sticky_terms import AffinitySettings

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
SAME_AS_PROXY = "proxy"


class StrategyName(StrEnum):
    """How one account is chosen among those that may be used."""

    HEADROOM = "headroom"
    ROUND_ROBIN = "round_robin"
    WEIGHTED = "weighted"
    LEAST_LOADED = "least_loaded"
    FILL_FIRST = "fill_first"
    LOWEST_LATENCY = "lowest_latency"


@dataclass(frozen=True, slots=True, repr=False)
class SharedRedisUrl(Secret):
    """`redis://`, `rediss://` or `unix://`, or `proxy` for the one that LiteLLM uses."""

    @classmethod
    def of(cls, told: object, where: str) -> Self:
        """Read it; a password in it is in no error."""
        if isinstance(told, str) and (told == SAME_AS_PROXY or told.startswith(REDIS_SCHEMES)):
            return cls(told)
        schemes = ", ".join(REDIS_SCHEMES)
        raise SettingsError(f"{where}: this is no address of a Redis. Let it begin with {schemes}, or write proxy.")

    @property
    def is_of_proxy(self) -> bool:
        """Whether the Redis that LiteLLM uses is meant."""
        return self.value == SAME_AS_PROXY


@dataclass(frozen=True, slots=True)
class SharingSettings:
    """What several workers and replicas of a proxy know together."""

    redis_url: SharedRedisUrl | None = None
    """Where they share it. Without an address, each worker knows only what it has seen itself."""
    prefix: str = "evenkeel"
    """What all keys in Redis begin with. Proxies with the same prefix share their accounts."""


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """What is told about an account; `model_info` of its deployments may say the same."""

    weight: Positive | None = None
    """Its part of the traffic beside others of its tier; 1 where nothing is said."""
    priority: Count | None = None
    """Its tier: those of a lower number are used first, a higher one only when no lower one has room; 1 where nothing
    is said."""
    limits: Limits | None = None
    """What it may use over all its models: rpm, tpm, concurrent, windows, daily, budget."""
    models: Mapping[str, Limits] = field(default_factory=lambda: types.MappingProxyType({}))
    """What it may use of one model, by its provider's name, with the provider before it or without, or by the name of
    the model group."""


@dataclass(frozen=True, slots=True)
class RotationSettings:
    """All of it."""

    strategy: StrategyName = StrategyName.HEADROOM
    """How one account is chosen among those that may be used."""
    snapshot_ttl: Seconds = 10.0
    """For how long a view of all accounts is used before it is built anew. 0: built for every request. Failures, and
    limits that providers name, change it at once."""
    route_cache: bool = True
    """Whether it is remembered which accounts a group of candidates has. Off, each of them is looked through for every
    request, which large groups feel (by an estimate, from some fifty to a hundred and fifty accounts on); it is there
    to measure that."""
    wait: Seconds = 5.0
    """For how long a request waits at most for an account that will be free. 0: it is refused at once."""
    lease: Period = 600.0
    """For how long a request may hold what was reserved for it without a word of how it went."""
    expected_output: Count = 500
    """How many tokens are reserved for an answer whose request names no maximum, until it is learned how long answers
    are."""
    account_header: bool = False
    """Whether answers name their account in the header `x-evenkeel-account`."""
    stock_cooldowns: bool = False
    """Whether LiteLLM's own cooldowns stay on beside the holds of the rotation."""
    holds: CooldownSettings = field(default_factory=CooldownSettings)
    sticky: AffinitySettings = field(default_factory=AffinitySettings)
    shared: SharingSettings = field(default_factory=SharingSettings)
    accounts: Mapping[str, AccountSettings] = field(default_factory=lambda: types.MappingProxyType({}))
    """What is told about accounts, by their names: weight, priority, limits, and limits by model."""
