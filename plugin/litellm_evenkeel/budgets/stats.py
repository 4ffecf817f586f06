"""Counters of budget lookups since this worker began, for metrics and for the health route."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.budget import Source
from litellm_evenkeel.support.circuit_breaker import BreakerState
from litellm_evenkeel.support.driver_errors import DriverError, cause, driver_error
from litellm_evenkeel.support.log_throttle import LogThrottle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from litellm_evenkeel.budgets.budget import BudgetEntity, Entity

LOG = logging.getLogger("litellm_evenkeel.budgets")
WARNING_INTERVAL_SECONDS = 60.0
REMEDIES = {
    DriverError.TIMEOUT: "Check whether the server is overloaded or hangs, or raise evenkeel.budgets.timeout.",
    DriverError.REFUSED: "Check that the server is up and reachable from the proxy.",
    DriverError.DENIED: "Check that the proxy's user may read there.",
    DriverError.SCHEMA: "Check that LiteLLM's migrations have run in the schema that the address names.",
    DriverError.ERROR: "Check the server's own log.",
}
# These sources are LiteLLM's internals, which change with its versions.
LITELLM_REMEDY = "This version of LiteLLM may store budgets differently. Check for a newer litellm-evenkeel."


class SourceFailures:
    """Counters and warnings of failed lookups, by kind, source and reason."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.counts: Counter[tuple[BudgetEntity, Source, DriverError]] = Counter()
        self.on_warning: Callable[[], None] = lambda: None
        """Called after each warning, of which there is at most one a minute for each cause."""
        self._clock = clock
        self._throttles: dict[tuple[BudgetEntity, Source, DriverError], LogThrottle] = {}

    def record(self, kinds: Iterable[BudgetEntity], source: Source, error: BaseException) -> None:
        """Count lookups that failed together. `kinds` has one item for each lookup."""
        reason = driver_error(error)
        for kind, count in Counter(kinds).items():
            self.counts[kind, source, reason] += count
            self._warn(kind, source, reason, error)

    def record_skipped(self, entities: Iterable[Entity], source: Source) -> None:
        """Count lookups that an open circuit breaker skipped. The failures that opened it have been logged."""
        for kind, _ in entities:
            self.counts[kind, source, DriverError.CIRCUIT_OPEN] += 1

    def _warn(self, kind: BudgetEntity, source: Source, reason: DriverError, error: BaseException) -> None:
        throttle = self._throttles.setdefault((kind, source, reason), LogThrottle(WARNING_INTERVAL_SECONDS))
        if not throttle.allows(self._clock()):
            return
        LOG.warning(
            "evenkeel: budgets of kind %s could not be looked up in %s: %s (%s). The gauges keep their last values. %s",
            kind.value, source.value, reason.value, cause(error),
            LITELLM_REMEDY if source in {Source.EVENT, Source.PROCESS} else REMEDIES[reason],
        )  # fmt: skip
        self.on_warning()


@dataclass(frozen=True, slots=True)
class KindCounts:
    """Cache counters of one kind of entity. The names are those of the health document."""

    hits: int = 0
    """Reads of a fresh entry."""
    misses: int = 0
    """Reads without an entry."""
    stale: int = 0
    """Reads of an entry that was due to be looked up again."""
    negative: int = 0
    """Reads of a fresh entry that says that the entity does not exist."""
    coalesced: int = 0
    """Misses and stale reads whose lookup was already pending."""
    known: int = 0
    """Number of entries now."""
    oldest_age_seconds: float | None = None
    """Age of the oldest recently used entry, or `None` if there is none."""


@dataclass(frozen=True, slots=True)
class BudgetCounts:
    """Counters of all budget lookups of this worker."""

    kinds: Mapping[BudgetEntity, KindCounts]
    failures: Mapping[tuple[BudgetEntity, Source, DriverError], int]
    """Failed lookups of entities; an entity counts each time."""
    statements: int = 0
    """Queries to Postgres, including those that failed."""
    waiting: int = 0
    """Entities whose lookup is pending now."""
    rejected: int = 0
    """Entities that were not looked up, because too many were pending or no table can hold such an id."""
    sources: Mapping[Source, BreakerState] | None = None
    """Circuit breaker state of each source in use, or `None` without a loader."""


def health(counts: BudgetCounts) -> dict[str, object]:
    """Return the counters as a JSON document. It contains no ids."""
    states = counts.sources or {}
    return {
        "ok": all(state is BreakerState.CLOSED for state in states.values()),
        "sources": {str(source): str(state) for source, state in states.items()},
        "entities": {
            str(kind): asdict(of_kind)
            | {"oldest_age_seconds": of_kind.oldest_age_seconds and round(of_kind.oldest_age_seconds, 3)}
            for kind, of_kind in counts.kinds.items()
        },
        "lookup_failures": [
            {"entity": str(kind), "source": str(source), "reason": str(reason), "count": count}
            for (kind, source, reason), count in sorted(counts.failures.items())
        ],
        "statements": counts.statements,
        "in_flight": counts.waiting,
        "rejected_lookups": counts.rejected,
    }
