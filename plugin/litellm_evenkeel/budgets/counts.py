"""How it went with budgets since this worker began, for metrics and for whoever looks whether all is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.breaker import BreakerState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.budgets.budget import BudgetEntity, Source
    from litellm_evenkeel.budgets.reasons import DriverError


@dataclass(frozen=True, slots=True)
class KindCounts:
    """How it went with one kind."""

    hits: int = 0
    """Answers that were known and fresh."""
    misses: int = 0
    """Answers of which nothing was known."""
    stale: int = 0
    """Answers that were known, and due to be looked up again."""
    negative: int = 0
    """Answers that there is no such entity."""
    joined: int = 0
    """Of misses and stale answers, those that somebody else was being asked about already."""
    known: int = 0
    """How many entities are known now."""
    oldest_age: float | None = None
    """Seconds since the oldest value was learned of those that were used lately; None if none was."""


@dataclass(frozen=True, slots=True)
class BudgetCounts:
    """All numbers are since the start, but for those of now."""

    kinds: Mapping[BudgetEntity, KindCounts]
    failures: Mapping[tuple[BudgetEntity, Source, DriverError], int]
    """Entities whose lookup failed, once for each time."""
    statements: int = 0
    """Questions to Postgres, whether it has answered or not."""
    waiting: int = 0
    """Entities that are being asked about now."""
    rejected: int = 0
    """Entities that were not asked about: too many waited, or no table can hold such an id."""
    sources: Mapping[Source, BreakerState] | None = None
    """How it stands with the servers, of those that are used."""


def health(counts: BudgetCounts) -> dict[str, object]:
    """Return it as JSON has it: no id is in it."""
    standings = counts.sources or {}
    return {
        "ok": all(one is BreakerState.CLOSED for one in standings.values()),
        "sources": {str(source): str(one) for source, one in standings.items()},
        "entities": {
            str(kind): {
                "known": one.known,
                "oldest_age_seconds": None if one.oldest_age is None else round(one.oldest_age, 3),
                "hits": one.hits,
                "misses": one.misses,
                "stale": one.stale,
                "negative": one.negative,
                "joined": one.joined,
            }
            for kind, one in counts.kinds.items()
        },
        "lookup_failures": [
            {"entity": str(kind), "source": str(source), "reason": str(reason), "count": count}
            for (kind, source, reason), count in sorted(counts.failures.items())
        ],
        "statements": counts.statements,
        "waiting": counts.waiting,
        "turned_away": counts.rejected,
    }
