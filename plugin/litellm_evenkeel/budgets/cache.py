"""Cache of budgets that answers at once and loads missing or stale entries in the background.

Nothing here waits. An entry is fresh for one TTL. After that it is still returned, as the last known value, and loaded
again. Entities that do not exist are cached too. All times are in seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from litellm_evenkeel.budgets.budget import BudgetEntity, Source, absent, merge
from litellm_evenkeel.budgets.stats import BudgetCounts, KindCounts
from litellm_evenkeel.support.lru_dict import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets.budget import Budget, Entity
    from litellm_evenkeel.budgets.loader import Loader
    from litellm_evenkeel.budgets.request_metadata import BudgetObservation
    from litellm_evenkeel.budgets.settings import BudgetSettings
    from litellm_evenkeel.budgets.stats import SourceFailures

JITTER = 0.2
# Entries that were not read for this number of TTLs do not count for the age of the oldest entry: nothing reloads them.
RECENT_TTLS = 2.0
REQUEST_KINDS = tuple(kind for kind in BudgetEntity if kind is not BudgetEntity.PROVIDER)


Listener: TypeAlias = "Callable[[BudgetEntity, str, Budget], None]"
"""Callback for changed budgets; an evicted one is reported as absent. It must be fast and must not raise."""
Peek: TypeAlias = "Callable[[BudgetEntity, str], Budget | None]"
"""Callback that reads a budget from the proxy's own memory; `None` if unknown. It only looks into dictionaries."""


@dataclass(slots=True)
class _Entry:
    budget: Budget
    fresh_until: float
    used_at: float


class _KindCache:
    """Cached budgets of one kind."""

    __slots__ = ("coalesced", "entries", "hits", "misses", "negative", "stale")

    def __init__(self, max_entries: int) -> None:
        self.entries: LruDict[str, _Entry] = LruDict(max_entries)
        self.hits = self.misses = self.stale = self.negative = self.coalesced = 0


class BudgetCache:
    """Budgets that one worker knows. Call it from one event loop only. Without a loader it never looks anything up."""

    def __init__(
        self,
        settings: BudgetSettings,
        failures: SourceFailures,
        loader: Loader | None,
        *,
        peek: Peek,
        listener: Listener,
        random: Callable[[], float],
    ) -> None:
        self._settings, self._failures, self._random = settings, failures, random
        self._peek, self._listener = peek, listener
        self._caches = {kind: _KindCache(max(settings.max_entries, 1)) for kind in BudgetEntity}
        self._loader = loader
        if loader:
            loader.listener = self._on_loaded

    def get(self, kind: BudgetEntity, entity_id: str, now: float) -> Budget | None:
        """Return the last known budget, or `None`, and request a lookup if it is missing or stale.

        The listener gets the result of the lookup.
        """
        cache = self._caches[kind]
        entry = cache.entries.get(entity_id)
        if entry is not None:
            cache.entries.move_to_end(entity_id)
            entry.used_at = now
            if now < entry.fresh_until:
                if entry.budget.exists:
                    cache.hits += 1
                else:
                    cache.negative += 1
                return entry.budget
        return self._get_stale(kind, entity_id, now)

    def record(self, observation: BudgetObservation) -> None:
        """Record an observation of a budget."""
        budget = observation.budget
        if budget.has_values:
            # For providers, the router is the only source: there is nothing more to look up.
            is_answer = budget.is_complete or observation.kind is BudgetEntity.PROVIDER
            self._update(observation.kind, observation.entity_id, budget, is_answer=is_answer, now=budget.as_of)

    def record_row(self, observation: BudgetObservation) -> None:
        """Record an observation from a scan of all rows. Entities that were never requested must not evict others."""
        entries = self._caches[observation.kind].entries
        if observation.entity_id in entries or len(entries) < entries.max_size:
            self.record(observation)

    def known(self, kind: BudgetEntity, entity_id: str) -> Budget | None:
        """Return the last known budget at any age, or `None`, without a lookup."""
        entry = self._caches[kind].entries.get(entity_id)
        return None if entry is None else entry.budget

    def observe(self, observation: BudgetObservation, now: float) -> None:
        """Record the observation of a request, and request a lookup of what it lacks, batched with others."""
        self.record(self._with_process_spend(observation, now))
        self.get(observation.kind, observation.entity_id, now)

    def record_unreadable(self, error: BaseException) -> None:
        """Count a request whose metadata could not be read."""
        self._failures.record(REQUEST_KINDS, Source.EVENT, error)

    def call_on_warning(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each warning about failed lookups. It must be fast and must not raise."""
        self._failures.on_warning = listener

    def counts(self, now: float) -> BudgetCounts:
        """Return the counters since this worker began."""
        kinds = {kind: self._kind_counts(cache, now) for kind, cache in self._caches.items()}
        failures, loader = dict(self._failures.counts), self._loader
        if loader is None:
            return BudgetCounts(kinds, failures)
        return BudgetCounts(
            kinds,
            failures,
            statements=loader.statements,
            waiting=loader.waiting,
            rejected=loader.rejected,
            sources=loader.breaker_states(),
        )

    async def close(self) -> None:
        """Stop all lookups and close the connections."""
        if self._loader:
            await self._loader.close()

    def _on_loaded(self, entity: Entity, budget: Budget) -> None:
        kind, entity_id = entity
        self._update(kind, entity_id, budget, is_answer=True, now=budget.as_of)

    def _get_stale(self, kind: BudgetEntity, entity_id: str, now: float) -> Budget | None:
        """Return the last known budget although it is not fresh, and request a lookup."""
        cache = self._caches[kind]
        is_fresh = kind is not BudgetEntity.PROVIDER and self._refresh_from_process(kind, entity_id, now)
        entry = cache.entries.get(entity_id)
        if is_fresh and entry:
            cache.hits += 1
            return entry.budget
        if entry is None:
            cache.misses += 1
        else:
            cache.stale += 1
        if kind is not BudgetEntity.PROVIDER and self._loader and self._loader.request((kind, entity_id)):
            cache.coalesced += 1
        return entry.budget if entry else None

    def _with_process_spend(self, observation: BudgetObservation, now: float) -> BudgetObservation:
        """Return the observation with this process's spend counter: authentication's spend may be a minute old."""
        if observation.budget.spend is None:
            return observation
        known = self._read_process(observation.kind, observation.entity_id)
        if known is None or known.spend is None or known.as_of < now:
            return observation
        return observation._replace(budget=observation.budget._replace(spend=known.spend, as_of=now))

    def _read_process(self, kind: BudgetEntity, entity_id: str) -> Budget | None:
        try:
            return self._peek(kind, entity_id)
        except Exception as error:  # noqa: BLE001 - it reads LiteLLM's internals, which change with its versions
            self._failures.record((kind,), Source.PROCESS, error)
            return None

    def _refresh_from_process(self, kind: BudgetEntity, entity_id: str, now: float) -> bool:
        """Update an entry from the process's memory. Return whether that is complete and fresh."""
        observed = self._read_process(kind, entity_id)
        if observed is None or not observed.has_values:
            return False
        is_answer = observed.is_complete and observed.as_of + self._settings.ttl * (1 - JITTER) > now
        self._update(kind, entity_id, observed, is_answer=is_answer, now=now)
        return is_answer

    def _update(self, kind: BudgetEntity, entity_id: str, observed: Budget, *, is_answer: bool, now: float) -> None:
        entries = self._caches[kind].entries
        entry = entries.use(entity_id)
        budget = merge(entry.budget if entry else None, observed)
        fresh_until = self._fresh_until(observed) if is_answer else 0.0
        if entry is None:
            before = None
            evicted = entries.put(entity_id, _Entry(budget, fresh_until, now))
            if evicted is not None:
                self._listener(kind, evicted[0], absent(now, Source.PROCESS))
        else:
            before, entry.budget, entry.used_at = entry.budget, budget, now
            entry.fresh_until = max(entry.fresh_until, fresh_until)
        if before is None or before.values != budget.values:
            self._listener(kind, entity_id, budget)

    def _fresh_until(self, observed: Budget) -> float:
        ttl = self._settings.ttl if observed.exists else self._settings.negative_ttl
        return observed.as_of + ttl * (1 - JITTER + 2 * JITTER * self._random())

    def _kind_counts(self, cache: _KindCache, now: float) -> KindCounts:
        return KindCounts(
            hits=cache.hits,
            misses=cache.misses,
            stale=cache.stale,
            negative=cache.negative,
            coalesced=cache.coalesced,
            known=len(cache.entries),
            oldest_age_seconds=self._oldest_age(cache, now),
        )

    def _oldest_age(self, cache: _KindCache, now: float) -> float | None:
        since, oldest = now - RECENT_TTLS * self._settings.ttl, None
        for entry in reversed(cache.entries.values()):
            if entry.used_at < since:
                break
            if entry.budget.exists and (oldest is None or entry.budget.as_of < oldest):
                oldest = entry.budget.as_of
        return None if oldest is None else max(now - oldest, 0.0)
