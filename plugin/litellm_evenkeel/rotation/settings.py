"""All settings of the rotation. Each has a default that works."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read by annotation
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.model.account import AccountSettings, hide_key_like_names
from litellm_evenkeel.rotation.model.error_rule import ErrorRules  # noqa: TC001 - pydantic reads it
from litellm_evenkeel.rotation.state.cooldown import CooldownSettings
from litellm_evenkeel.settings_schema.types import (
    LITELLM,
    POSTGRES_SCHEMES,
    Count,
    Duration,
    Factor,
    PositiveDuration,
    RedisUrl,
    ServerUrl,
    SettingsModel,
    StoreUrl,
    Switch,
    Text,
    frozen_mapping,
)
from litellm_evenkeel.support.redis_address import REDIS_SCHEMES, require_valid_address


@dataclass(frozen=True, slots=True)
class CoordinatorSettings:
    """Settings of the coordinator. All times are in seconds. Operators write only `url` and `prefix`."""

    url: str = field(default="", repr=False)
    """The address of a Redis or Valkey, with its password."""
    prefix: str = "evenkeel"
    """The prefix of all keys."""
    workers: int = 1
    """The number of workers until Redis reports how many there are."""
    timeout: float = 0.1
    """Time without an answer after which each worker uses its local share."""
    heartbeat: float = 0.5
    gone: float = 3.0
    """Time without a heartbeat after which a worker's leases are free."""
    settle: float = 3.0
    """Time after an outage in which Redis grants nothing, until all workers have reported their usage."""
    tick: float = 0.1
    """Interval at which leases are renewed and returned."""


class KeySource(StrEnum):
    """Source of the key that identifies a session."""

    SESSION_ID = "session_id"
    """The id in the request's metadata, which LiteLLM also fills from a header."""
    HEADER = "header"
    """One of the configured headers."""
    CACHE_KEY = "cache_key"
    """`prompt_cache_key`, with which OpenAI's clients group requests in the provider's cache."""
    USER = "user"
    """The end user of the request."""
    PROMPT = "prompt"
    """The system prompt and the first user message, which stay the same while a conversation grows."""

    @property
    def names_a_session(self) -> bool:
        """Whether the key belongs to one conversation. Many conversations may share a key of another source."""
        return self is KeySource.SESSION_ID or self is KeySource.HEADER


class SessionBackend(StrEnum):
    """Store of pins for other workers and for later."""

    MEMORY = "memory"
    REDIS = "redis"
    POSTGRES = "postgres"


class AffinitySettings(SettingsModel):
    """When a session stays with an account.

    On by default, by explicit ids and by the beginning of the prompt, as most clients name no session. A provider's
    prompt cache belongs to an account, so a conversation that changes accounts pays for its whole history at each turn.
    That is safe: a session leaves an account that cools down, is slow or fails, and a key that many conversations share
    (a prompt, a cache key, a user) never brings an account more than its share of the traffic. `user` is off by
    default, as one end user is often a whole application.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "by": "keys",
        "most_pins": "max_sessions",
        "most_pins_per_account": "max_sessions_per_account",
        "failing_after": "failure_threshold",
        "repin_after": "move_after",
        "hot_factor": "overload_factor",
        "hot_floor": "overload_min_requests",
        "most_queued": "max_pending_writes",
    }

    enabled: Switch = True
    """Whether sessions stay with their account."""
    keys: tuple[KeySource, ...] = (KeySource.SESSION_ID, KeySource.HEADER, KeySource.CACHE_KEY, KeySource.PROMPT)
    """Sources of the key that identifies a session. The first one that a request has counts."""
    headers: tuple[Text, ...] = (
        "x-litellm-session-id",
        "x-claude-code-session-id",
        "x-session-id",
        "session-id",
        "session_id",
        "conversation_id",
    )
    """Headers that name a session. The first one that a request has counts."""
    prompt_characters: Count = 1024
    """Number of characters of the system prompt, and of the first user message, that identify a prompt."""
    ttl: PositiveDuration = 3600.0
    """Time without a request after which a session is forgotten."""
    max_sessions: Count = 50_000
    """Maximum number of sessions of a worker. Beyond it, the least recently used are forgotten."""
    max_sessions_per_account: Count = 10_000
    """Maximum number of sessions of an account. Further ones are not pinned."""
    slow_factor: Factor = 3.0
    """An account's sessions use a fallback above this multiple of the candidates' median latency."""
    slow_floor: Duration = 2.0
    """Latency up to which an account is never slow, whatever the median."""
    failure_threshold: Count = 2
    """An account's sessions use a fallback after this many failures since its last success."""
    move_after: Duration = 60.0
    """Time that an account may be unavailable before its sessions move for good. Until then they use one fallback
    account, and come back."""
    prefill_rate: Count = 10_000
    """Tokens of a prompt that a provider processes in a second. If a rate limit of a session's account ends before
    another account would have processed the prompt, the request waits for it. 0: it never waits."""
    overload_factor: Factor = 1.5
    """Multiple of an even share of the traffic that one prompt, cache key or user may bring its account."""
    overload_min_requests: Count = 20
    """Requests in a minute up to which a shared prompt, cache key or user is never an overload."""
    backend: SessionBackend = SessionBackend.MEMORY
    """Where pins are stored for other workers: `memory` (nowhere), `redis` or `postgres`."""
    url: StoreUrl = ServerUrl(LITELLM)
    """The address of that Redis or Postgres."""
    fetch_timeout: Duration = 0.05
    """Maximum time that a request waits for a pin from the backend."""
    max_pending_writes: Count = 10_000
    """Maximum number of pins that wait to be written. Further ones are not written."""


class StrategyName(StrEnum):
    """The rule that ranks candidates."""

    HEADROOM = "headroom"
    ROUND_ROBIN = "round_robin"
    WEIGHTED = "weighted"
    LEAST_BUSY = "least_busy"
    FILL_FIRST = "fill_first"
    LOWEST_LATENCY = "lowest_latency"


class SharingSettings(SettingsModel):
    """State that the workers and replicas of a proxy share."""

    redis_url: RedisUrl | None = None
    """Redis through which workers share limits and cooldowns. Without one, each worker knows only its own requests."""
    prefix: Text = "evenkeel"
    """The prefix of all keys in Redis. Proxies with the same prefix share their accounts."""


class RotationSettings(SettingsModel):
    """Settings of the rotation."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "wait": "queue_timeout",
        "lease": "reservation_ttl",
        "stock_cooldowns": "litellm_cooldowns",
        "least_loaded": "least_busy",
        "holds": "cooldown",
        "sticky": "affinity",
    }

    strategy: StrategyName = StrategyName.HEADROOM
    """The rule that ranks candidates."""
    strategies: Annotated[Mapping[str, StrategyName], AfterValidator(frozen_mapping)] = Field(default_factory=dict)
    """Strategies of single model groups, by the name that clients ask for."""
    snapshot_ttl: PositiveDuration = 10.0
    """Time after which the weights of all candidates are measured again. Failures, and limits that providers state,
    change them at once."""
    queue_timeout: Duration = 5.0
    """Maximum time that a request waits for an account with capacity. 0: it is rejected at once, unless an account
    recovers within a quarter of a second."""
    reservation_ttl: PositiveDuration = 600.0
    """Time after which a reservation expires if the end of its request is not reported."""
    expected_output: Count = 500
    """Number of tokens reserved for a response, or the request's maximum if lower, until responses are known."""
    account_header: Switch = False
    """Whether responses name their account in the header `x-evenkeel-account`."""
    litellm_cooldowns: Switch = False
    """Whether LiteLLM's own cooldowns stay on beside those of the rotation."""
    error_rules: ErrorRules = ()
    """Rules that classify failures differently. The first that matches applies, before all others."""
    cooldown: CooldownSettings = Field(default_factory=CooldownSettings)
    affinity: AffinitySettings = Field(default_factory=AffinitySettings)
    shared: SharingSettings = Field(default_factory=SharingSettings)
    accounts: Annotated[
        Mapping[str, AccountSettings], BeforeValidator(hide_key_like_names), AfterValidator(frozen_mapping)
    ] = Field(default_factory=dict)
    """Settings of accounts, by name: weight, priority, limits, and limits by model."""


def check_consistency(settings: RotationSettings, path: str) -> None:
    """Raise SettingsError for the first two settings that contradict each other. No address is shown."""
    cooldown, affinity, shared = settings.cooldown, settings.affinity, settings.shared
    for number, rule in enumerate(settings.error_rules, 1):
        if rule.status is None and not rule.contains.strip():
            raise SettingsError(
                f"{path}.error_rules[{number}]: expected what it matches, got nothing. Hint: add status or contains."
            )
    if cooldown.max < cooldown.initial:
        raise SettingsError(
            f"{path}.cooldown.max: expected at least the {cooldown.initial:g}s of {path}.cooldown.initial, got "
            f"{cooldown.max:g}s."
        )
    if not shared.prefix.strip():
        raise SettingsError(
            f"{path}.shared.prefix: expected a text, got an empty one. Hint: without a prefix, other keys in Redis "
            "would be taken for the rotation's."
        )
    if affinity.backend is SessionBackend.MEMORY:
        if not affinity.url.is_litellm:
            raise SettingsError(
                f"{path}.affinity.url: expected no address with backend: memory. "
                "Hint: write backend: redis or postgres."
            )
    else:
        schemes = REDIS_SCHEMES if affinity.backend is SessionBackend.REDIS else POSTGRES_SCHEMES
        if not affinity.url.is_litellm and not affinity.url.get_secret_value().startswith(schemes):
            raise SettingsError(
                f"{path}.affinity.url: expected the address of a {affinity.backend} server. "
                f"Hint: it begins with {' or '.join(schemes)}."
            )
    redis = {"affinity.url": affinity.url if affinity.backend is SessionBackend.REDIS else None}
    for name, address in {**redis, "shared.redis_url": shared.redis_url}.items():
        if address is not None and not address.is_litellm:
            require_valid_address(address.get_secret_value(), f"{path}.{name}")
