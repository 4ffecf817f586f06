"""One dated observation of a budget: owner, maximum, spend and reset time, each of which may be unknown."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

# Reset times that differ by less are the same reset, rounded in two ways by two sources.
SAME_RESET_SECONDS = 1.0


class BudgetEntity(StrEnum):
    """The kind of entity that a budget belongs to."""

    KEY = "key"
    TEAM = "team"
    USER = "user"
    ORG = "org"
    CUSTOMER = "customer"
    PROVIDER = "provider"


class Source(StrEnum):
    """Where an observation of a budget came from."""

    EVENT = "event"
    """Metadata that LiteLLM's authentication added to a request."""
    PROCESS = "process"
    """Caches in the proxy's own memory."""
    REDIS = "redis"
    POSTGRES = "postgres"


Entity: TypeAlias = tuple[BudgetEntity, str]
"""An entity with a budget: its kind, and its id in LiteLLM's tables."""


class Budget(NamedTuple):
    """One observation of a budget. `None` means unknown, unless a flag says that there is no such value.

    A tuple, not a dataclass: each event creates several budgets, and a tuple takes a fifth of the time.
    """

    as_of: float
    """Time of the observation, in seconds since 1970; if `spend` is known, the time of the spend."""
    source: Source
    maximum: float | None = None
    spend: float | None = None
    resets_at: float | None = None
    """Time of the next reset of the spend to zero, in seconds since 1970."""
    alias: str | None = None
    email: str | None = None
    exists: bool = True
    """Whether the entity exists."""
    is_unlimited: bool = False
    """Whether the budget is known to have no maximum."""
    never_resets: bool = False
    """Whether the budget is known to have no reset."""

    @property
    def remaining(self) -> float | None:
        """Dollars left: negative if overspent, `None` unless both `maximum` and `spend` are known."""
        return None if self.maximum is None or self.spend is None else self.maximum - self.spend

    @property
    def is_complete(self) -> bool:
        """Whether a lookup could add nothing. An unlimited budget has no remainder, so it is always complete."""
        if not self.exists or self.is_unlimited:
            return True
        return self.maximum is not None and self.spend is not None and (self.never_resets or self.resets_at is not None)

    @property
    def has_values(self) -> bool:
        """Whether anything except names is known."""
        has_value = self.maximum is not None or self.spend is not None or self.resets_at is not None
        return has_value or self.is_unlimited or self.never_resets or not self.exists

    @property
    def values(self) -> tuple[float | str | bool | None, ...]:
        """Values that a gauge shows: all fields except `as_of` and `source`."""
        return self[2:]


def absent(as_of: float, source: Source) -> Budget:
    """Return the budget of an entity that does not exist."""
    return Budget(as_of, source, exists=False)


def merge(known: Budget | None, observed: Budget) -> Budget:
    """Return a budget with the newer of both observations for each value, or the older one where it is unknown."""
    if known is None:
        return observed
    newer, older = (observed, known) if observed.as_of >= known.as_of else (known, observed)
    if not newer.exists or not older.exists:
        return newer
    spend, as_of = newer.spend, newer.as_of
    if spend is None and older.spend is not None and not _has_been_reset(older, newer):
        spend, as_of = older.spend, older.as_of
    of_limit = newer if newer.maximum is not None or newer.is_unlimited else older
    of_reset = newer if newer.resets_at is not None or newer.never_resets else older
    return Budget(
        as_of=as_of,
        source=newer.source,
        maximum=of_limit.maximum,
        spend=spend,
        resets_at=of_reset.resets_at,
        alias=older.alias if newer.alias is None else newer.alias,
        email=older.email if newer.email is None else newer.email,
        is_unlimited=of_limit.is_unlimited,
        never_resets=of_reset.never_resets,
    )


def _has_been_reset(older: Budget, newer: Budget) -> bool:
    """Return whether a reset lies between two observations, so that the older spend no longer counts."""
    if older.resets_at is None or newer.resets_at is None:
        return False
    return newer.resets_at - older.resets_at > SAME_RESET_SECONDS
