"""What an operator may decide about the rotation. Whatever is not told has a default that works."""

from __future__ import annotations

import types
from collections.abc import Mapping  # noqa: TC003 - settings are read by their annotations
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.model.account import AccountSettings  # noqa: TC001 - read by annotation
from litellm_evenkeel.rotation.state.cooldown import CooldownSettings
from litellm_evenkeel.settings_schema.types import (
    Count,
    Factor,
    Period,
    Seconds,
    Secret,
)

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True, slots=True)
class CoordinatorSettings:
    """All times in seconds."""

    url: str = field(default="", repr=False)
    """The address of a Redis or Valkey, with its password."""
    prefix: str = "evenkeel"
    """How the names of all keys begin."""
    workers: int = 1
    """How many there are, as long as nobody has seen any: where the server never answered, each takes its part."""
    timeout: float = 0.1
    """After so long without an answer, everybody goes on alone."""
    heartbeat: float = 1.0
    gone: float = 3.0
    """A worker that was not heard of for so long is no more, and what it held is free."""
    settle: float = 3.0
    """After the server was gone, it grants nothing for so long: until all have told what they used meanwhile."""
    tick: float = 0.1
    """How often it is seen to that enough is granted, and what is not needed given back."""


class KeySource(StrEnum):
    """What a session is known by."""

    SESSION_ID = "session_id"
    """The id that a client names in its metadata, or that LiteLLM has read from a header for it."""
    HEADER = "header"
    """One of the named headers."""
    CACHE_KEY = "cache_key"
    """`prompt_cache_key`, with which OpenAI's clients say what belongs together in the provider's cache."""
    USER = "user"
    """The end user of the request."""
    PROMPT = "prompt"
    """How the prompt begins: the system prompt and the first user message, which stay while a conversation grows."""

    @property
    def names_a_session(self) -> bool:
        """Whether it is one conversation's own; the others may be shared by any number of them."""
        return self is KeySource.SESSION_ID or self is KeySource.HEADER


class SessionBackend(StrEnum):
    """Where pins are kept for other workers and for later."""

    MEMORY = "memory"
    REDIS = "redis"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class AffinitySettings:
    """When a session stays with an account.

    On by default, by explicit ids and by how the prompt begins: a provider's prompt cache belongs to an account, so a
    conversation that changes accounts pays for its whole history at each turn, and most clients name no session.
    What makes that safe to have on: a pin never outlives a hold, a slow or a failing account, and what many
    conversations share (a prompt, a cache key, a user) never brings an account more than its share of the traffic.
    `user` is off: one end user is often a whole application, and LiteLLM can be told to write the key's hash there.
    """

    enabled: bool = True
    """Whether sessions stick to accounts at all."""
    by: tuple[KeySource, ...] = (KeySource.SESSION_ID, KeySource.HEADER, KeySource.CACHE_KEY, KeySource.PROMPT)
    """What a session is known by; the first of them that a request has counts."""
    headers: tuple[str, ...] = (
        "x-litellm-session-id",
        "x-claude-code-session-id",
        "x-session-id",
        "session-id",
        "session_id",
        "conversation_id",
    )
    """Headers that name a session; the first of them that a request has counts."""
    prompt_characters: Count = 1024
    """How much of the system prompt, and as much of the first user message, a prompt is known by."""
    ttl: Period = 3600.0
    """Seconds after which a session that was silent is forgotten; no provider's prompt cache lives longer."""
    most_pins: Count = 50_000
    """How many sessions a worker remembers; beyond it, those that were silent longest are forgotten."""
    most_pins_per_account: Count = 10_000
    """How many sessions one account may have; those beyond it stick to nobody."""
    slow_factor: Factor = 3.0
    """How many times slower than the group's median an account must be for its sessions to go elsewhere meanwhile."""
    slow_floor: Seconds = 2.0
    """Seconds that are never slow, whatever the median."""
    failing_after: Count = 2
    """Failures since its last success after which an account's sessions go elsewhere meanwhile."""
    repin_after: Seconds = 60.0
    """Seconds beyond which a session moves for good if its account is held, out of room or gone for longer; till then
    its pin waits, and it goes to one and the same other account."""
    hot_factor: Factor = 1.5
    """How many times an even share of its group's traffic one prompt, cache key or user may bring its account."""
    hot_floor: Count = 20
    """Requests in a minute up to which a shared prompt, cache key or user is never too much."""
    backend: SessionBackend = SessionBackend.MEMORY
    """Where pins are kept for other workers: memory (nowhere), redis or postgres."""
    url: str | None = field(default=None, repr=False)
    """The address of that Redis or Postgres; without one, those of the proxy."""
    fetch_timeout: Seconds = 0.05
    """Seconds that a request may wait to learn whether another worker has pinned its session."""
    most_queued: Count = 10_000
    """How many pins may wait to be written; what comes beyond them is written by nobody, and counted."""


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


SCHEMES = {SessionBackend.REDIS: REDIS_SCHEMES, SessionBackend.POSTGRES: ("postgresql://", "postgres://")}


def check_consistency(settings: RotationSettings, where: str) -> None:
    """Raise SettingsError for the first two that contradict each other; no address is shown."""
    if settings.holds.most < settings.holds.first:
        raise SettingsError(
            f"{where}.holds.most: {settings.holds.most:g}s is less than the first hold, {settings.holds.first:g}s. "
            f"Write {settings.holds.first:g}s or more, or a shorter {where}.holds.first."
        )
    if not settings.shared.prefix.strip():
        raise SettingsError(
            f"{where}.shared.prefix: this is empty, and would take other keys of that Redis for ours. "
            "Write such as evenkeel."
        )
    _address(settings.sticky, f"{where}.sticky")
    if settings.sticky.url is not None and settings.sticky.backend is SessionBackend.REDIS:
        _readable(settings.sticky.url, f"{where}.sticky.url")
    if settings.shared.redis_url is not None:
        _readable(settings.shared.redis_url.value, f"{where}.shared.redis_url")


def _readable(address: str, where: str) -> None:
    """Look at it before its client does, whose error shows what it takes for the port: a part of the password."""
    try:
        _ = urlsplit(address).port
    except ValueError:
        raise SettingsError(
            f"{where}: its host or its port cannot be read. Write such as redis://:PASSWORD@host:6379/0, and in the "
            "password %2F for /, %23 for #, %3F for ?, %40 for @."
        ) from None


def _address(settings: AffinitySettings, where: str) -> None:
    if settings.url is None:
        return
    schemes = SCHEMES.get(settings.backend)
    if schemes is None:
        raise SettingsError(
            f"{where}.url: pins in memory have no address. Write backend: redis or postgres, or leave out the url."
        )
    if not settings.url.startswith(schemes):
        raise SettingsError(
            f"{where}.url: this is no address of a {settings.backend}, which the backend is. "
            f"Let it begin with {' or '.join(schemes)}, or write another backend."
        )
