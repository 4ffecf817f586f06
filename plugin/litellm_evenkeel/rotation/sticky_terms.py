"""How sessions stick to accounts, as operators may set it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from litellm_evenkeel.reading.kinds import Count, Factor, Period, Seconds  # noqa: TC001 - read by annotation


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
