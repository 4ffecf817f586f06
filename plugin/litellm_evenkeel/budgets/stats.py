"""How it went with budgets since this worker began, for metrics and for whoever looks whether all is well."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.budget import Source
from litellm_evenkeel.support.circuit_breaker import BreakerState
from litellm_evenkeel.support.driver_errors import DriverError, cause, driver_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from litellm_evenkeel.budgets.budget import BudgetEntity, Entity

LOG = logging.getLogger("litellm_evenkeel.budgets")
TOLD_EACH_SECONDS = 60.0
CURES = {
    DriverError.TIMEOUT: "See whether the server is overloaded, or hangs; evenkeel.budgets.timeout is how long it may "
    "take.",
    DriverError.REFUSED: "See whether the server is up and reached from here.",
    DriverError.DENIED: "See that the proxy's user of it may read there.",
    DriverError.SCHEMA: "See that LiteLLM's migrations have run in the schema that its address names.",
    DriverError.ERROR: "See the server's own log.",
}
# What it is read from is LiteLLM's, and changes with its versions.
OF_LITELLM = "This LiteLLM may keep it otherwise. See whether there is a newer litellm-evenkeel."


class SourceFailures:
    """By kind, source and reason."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.counts: Counter[tuple[BudgetEntity, Source, DriverError]] = Counter()
        self._clock = clock
        self._told_at: dict[tuple[BudgetEntity, Source, DriverError], float] = {}

    def record(self, kinds: Iterable[BudgetEntity], source: Source, error: BaseException) -> None:
        """Know of lookups that failed together: the kind of each."""
        why = driver_error(error)
        for kind, count in Counter(kinds).items():
            self.counts[kind, source, why] += count
            self._tell(kind, source, why, error)

    def record_skipped(self, entities: Iterable[Entity], source: Source) -> None:
        """Know of lookups that were not made. Why has been told before."""
        for kind, _ in entities:
            self.counts[kind, source, DriverError.CIRCUIT_OPEN] += 1

    def _tell(self, kind: BudgetEntity, source: Source, why: DriverError, error: BaseException) -> None:
        now = self._clock()
        told_at = self._told_at.get((kind, source, why))
        if told_at is not None and now - told_at < TOLD_EACH_SECONDS:
            return
        self._told_at[kind, source, why] = now
        LOG.warning(
            "evenkeel: budgets of kind %s could not be looked up in %s: %s (%s). What was known of them stays. %s",
            kind.value, source.value, why.value, cause(error),
            OF_LITELLM if source in {Source.EVENT, Source.PROCESS} else CURES[why],
        )  # fmt: skip


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
