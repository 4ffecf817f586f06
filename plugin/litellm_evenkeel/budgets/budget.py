"""What is known of one budget: whose, how much of it is spent, when it begins anew; each value known or not."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

# Two moments that are nearer to each other are the same reset, written in two ways.
SAME_RESET_SECONDS = 1.0


class BudgetEntity(StrEnum):
    """Whose budget it is."""

    KEY = "key"
    TEAM = "team"
    USER = "user"
    ORG = "org"
    CUSTOMER = "customer"
    PROVIDER = "provider"


class Source(StrEnum):
    """Where it was learned."""

    EVENT = "event"
    """The metadata of a request, as authentication left it there."""
    PROCESS = "process"
    """What the proxy keeps in its own memory."""
    REDIS = "redis"
    POSTGRES = "postgres"


Entity: TypeAlias = tuple[BudgetEntity, str]
"""Somebody with a budget: a kind, and the id that LiteLLM's tables have."""
Values: TypeAlias = tuple[float | str | bool | None, ...]


class Budget(NamedTuple):
    """One budget. What is None is not known, unless one of the flags says that there is nothing to know.

    A tuple, not a dataclass: several are made for each event, and it is made in a fifth of the time.
    """

    as_of: float
    """Since when it is known, in seconds since 1970: the spend, where that is known."""
    source: Source
    maximum: float | None = None
    spend: float | None = None
    resets_at: float | None = None
    """When the spend begins at zero again, in seconds since 1970."""
    alias: str | None = None
    email: str | None = None
    exists: bool = True
    """Whether there is such an entity at all."""
    is_unlimited: bool = False
    """Whether it is known that there is no maximum."""
    never_resets: bool = False
    """Whether it is known that nothing begins anew."""

    @property
    def remaining(self) -> float | None:
        """What is left of it; negative when more is spent than may be, None unless both are known."""
        return None if self.maximum is None or self.spend is None else self.maximum - self.spend

    @property
    def is_complete(self) -> bool:
        """Whether nothing would be learned by asking: who has no maximum has no remainder either."""
        if not self.exists or self.is_unlimited:
            return True
        return self.maximum is not None and self.spend is not None and (self.never_resets or self.resets_at is not None)

    @property
    def says_anything(self) -> bool:
        """Whether anything is known but names."""
        has_value = self.maximum is not None or self.spend is not None or self.resets_at is not None
        return has_value or self.is_unlimited or self.never_resets or not self.exists

    @property
    def values(self) -> Values:
        """What a gauge would show of it: all but since when and from where."""
        return self[2:]


def absent(as_of: float, source: Source) -> Budget:
    """Return what is known of an entity that does not exist."""
    return Budget(as_of, source, exists=False)


def merge(known: Budget | None, told: Budget) -> Budget:
    """Return what is known now: the newer word on each value counts, and the older one where the newer says nothing."""
    if known is None:
        return told
    newer, older = (told, known) if told.as_of >= known.as_of else (known, told)
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
    """Say whether a budget has begun anew between two words on it: the older one's spend is of no use then."""
    if older.resets_at is None or newer.resets_at is None:
        return False
    return newer.resets_at - older.resets_at > SAME_RESET_SECONDS
