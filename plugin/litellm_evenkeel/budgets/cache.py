"""What is known of budgets, told at once to whoever asks; what is missing or old is looked up meanwhile.

Nothing here waits. A value is fresh for a while, then it is still told, as the last that is known, and looked up again.
Of whom nothing exists is remembered too. All times are seconds since 1970.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from litellm_evenkeel.budgets.budget import BudgetEntity, Source, absent, merge
from litellm_evenkeel.budgets.stats import BudgetCounts, KindCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets.budget import Budget, Entity
    from litellm_evenkeel.budgets.loader import Loader
    from litellm_evenkeel.budgets.request_hints import BudgetObservation
    from litellm_evenkeel.budgets.settings import BudgetSettings
    from litellm_evenkeel.budgets.stats import SourceFailures

JITTER = 0.2
# Who was not asked for in so many times the TTL is of no interest for how old values are.
LATELY = 2.0
OF_REQUESTS = tuple(kind for kind in BudgetEntity if kind is not BudgetEntity.PROVIDER)


class Listener(Protocol):
    """Who is told of changes; who is forgotten, as if there was nothing of him. It may not take long, or raise."""

    def __call__(self, kind: BudgetEntity, who: str, budget: Budget) -> None:
        """Know of a value that is another than before."""


class Peek(Protocol):
    """What the process itself may know: dictionaries are looked into, nothing more."""

    def __call__(self, kind: BudgetEntity, who: str) -> Budget | None:
        """Return what it knows."""


class _Entry:
    __slots__ = ("budget", "fresh_until", "used_at")

    def __init__(self, budget: Budget, fresh_until: float, used_at: float) -> None:
        self.budget, self.fresh_until, self.used_at = budget, fresh_until, used_at


class _KindCache:
    """All of one kind, those used last at the end."""

    __slots__ = ("entries", "hits", "joined", "misses", "negative", "stale")

    def __init__(self) -> None:
        self.entries: OrderedDict[str, _Entry] = OrderedDict()
        self.hits = self.misses = self.stale = self.negative = self.joined = 0


class BudgetCache:
    """One worker's. Its methods are called on one event loop. Without a loader, nothing is looked up."""

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
        self._settings, self._failures, self._peek, self._listener, self._random = (
            settings,
            failures,
            peek,
            listener,
            random,
        )
        self._most = max(settings.most, 1)
        self._shelves = {kind: _KindCache() for kind in BudgetEntity}
        self._loader = loader
        if loader:
            loader.on_loaded(self._learned)

    def get(self, kind: BudgetEntity, who: str, now: float) -> Budget | None:
        """Return what is known of a budget, None if nothing is; the rest is asked for, and told to the listener."""
        cache = self._shelves[kind]
        entry = cache.entries.get(who)
        if entry is not None:
            cache.entries.move_to_end(who)
            entry.used_at = now
            if now < entry.fresh_until:
                if entry.budget.exists:
                    cache.hits += 1
                else:
                    cache.negative += 1
                return entry.budget
        return self._late(kind, who, now)

    def record(self, observation: BudgetObservation) -> None:
        """Know what a request tells of a budget."""
        told = observation.budget
        if told.says_anything:
            # Of providers, the router tells all there is.
            is_answer = told.is_complete or observation.kind is BudgetEntity.PROVIDER
            self._know(observation.kind, observation.entity_id, told, is_answer=is_answer, now=told.as_of)

    def record_row(self, observation: BudgetObservation) -> None:
        """Know what one of all rows tells of a budget: of whom nobody has asked for, only while there is room."""
        entries = self._shelves[observation.kind].entries
        if observation.entity_id in entries or len(entries) < self._most:
            self.record(observation)

    def known(self, kind: BudgetEntity, who: str) -> Budget | None:
        """Return what is known of a budget, however old, without asking for it."""
        entry = self._shelves[kind].entries.get(who)
        return None if entry is None else entry.budget

    def observe(self, observation: BudgetObservation, now: float) -> None:
        """Know what a request tells, and have the rest looked up: of all that is seen soon after, in one go."""
        self.record(self._fresher(observation, now))
        self.get(observation.kind, observation.entity_id, now)

    def record_unreadable(self, error: BaseException) -> None:
        """Know that of a request, nobody could be found out whose it was."""
        self._failures.record(OF_REQUESTS, Source.EVENT, error)

    def counts(self, now: float) -> BudgetCounts:
        """Return how it went so far."""
        kinds = {kind: self._counts_of(cache, now) for kind, cache in self._shelves.items()}
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
        """Look up nothing more, and let go of the servers."""
        if self._loader:
            await self._loader.close()

    def _learned(self, entity: Entity, budget: Budget) -> None:
        kind, who = entity
        self._know(kind, who, budget, is_answer=True, now=budget.as_of)

    def _late(self, kind: BudgetEntity, who: str, now: float) -> Budget | None:
        """Return what is known though it is not fresh, and ask."""
        cache = self._shelves[kind]
        is_fresh = kind is not BudgetEntity.PROVIDER and self._has_peeked(kind, who, now)
        entry = cache.entries.get(who)
        if is_fresh and entry:
            cache.hits += 1
            return entry.budget
        if entry is None:
            cache.misses += 1
        else:
            cache.stale += 1
        if kind is not BudgetEntity.PROVIDER and self._loader and self._loader.ask((kind, who)):
            cache.joined += 1
        return entry.budget if entry else None

    def _fresher(self, observation: BudgetObservation, now: float) -> BudgetObservation:
        """Return it with what the process has counted of the spend: what authentication knows may be a minute old."""
        known = self._peeked(observation.kind, observation.entity_id) if observation.budget.spend is not None else None
        if known is None or known.spend is None or known.as_of < now:
            return observation
        return observation._replace(budget=observation.budget._replace(spend=known.spend, as_of=now))

    def _peeked(self, kind: BudgetEntity, who: str) -> Budget | None:
        try:
            return self._peek(kind, who)
        except Exception as error:  # noqa: BLE001 - what it looks into is LiteLLM's, and changes with its versions
            self._failures.record((kind,), Source.PROCESS, error)
            return None

    def _has_peeked(self, kind: BudgetEntity, who: str, now: float) -> bool:
        """Know what the process knows; return whether that is all there is to know."""
        told = self._peeked(kind, who)
        if told is None or not told.says_anything:
            return False
        is_answer = told.is_complete and told.as_of + self._settings.ttl * (1 - JITTER) > now
        self._know(kind, who, told, is_answer=is_answer, now=now)
        return is_answer

    def _know(self, kind: BudgetEntity, who: str, told: Budget, *, is_answer: bool, now: float) -> None:
        entries = self._shelves[kind].entries
        entry = entries.get(who)
        budget = merge(entry.budget if entry else None, told)
        fresh_until = self._fresh_until(told) if is_answer else 0.0
        if entry is None:
            before = None
            entries[who] = _Entry(budget, fresh_until, now)
            if len(entries) > self._most:
                gone, _ = entries.popitem(last=False)
                self._listener(kind, gone, absent(now, Source.PROCESS))
        else:
            before, entry.budget, entry.used_at = entry.budget, budget, now
            entry.fresh_until = max(entry.fresh_until, fresh_until)
            entries.move_to_end(who)
        if before is None or before.values != budget.values:
            self._listener(kind, who, budget)

    def _fresh_until(self, told: Budget) -> float:
        ttl = self._settings.ttl if told.exists else self._settings.negative_ttl
        return told.as_of + ttl * (1 - JITTER + 2 * JITTER * self._random())

    def _counts_of(self, cache: _KindCache, now: float) -> KindCounts:
        return KindCounts(
            hits=cache.hits,
            misses=cache.misses,
            stale=cache.stale,
            negative=cache.negative,
            joined=cache.joined,
            known=len(cache.entries),
            oldest_age=self._oldest_age(cache, now),
        )

    def _oldest_age(self, cache: _KindCache, now: float) -> float | None:
        since, oldest = now - LATELY * self._settings.ttl, None
        for entry in reversed(cache.entries.values()):
            if entry.used_at < since:
                break
            if entry.budget.exists and (oldest is None or entry.budget.as_of < oldest):
                oldest = entry.budget.as_of
        return None if oldest is None else max(now - oldest, 0.0)
