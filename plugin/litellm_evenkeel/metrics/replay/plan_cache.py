"""From events to series: taken in at once, done later in batches, in the order in which they came."""

from __future__ import annotations

import logging
import math
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import LABELS, EventFacts, LiteLLMReaders, Raw, read
from litellm_evenkeel.metrics.replay.sentinel_event import SentinelEvent
from litellm_evenkeel.metrics.replay.update_plan import (
    BoundPlan,
    UpdatePlan,
    constant_plan,
    derive_plan,
    has_unmarked_labels,
)
from litellm_evenkeel.metrics.replay.update_queue import UpdateQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from datetime import datetime

    from litellm_evenkeel.metrics.registry.families import MetricStore, RecordedUpdate

    Watch = Callable[[Raw, object, datetime, datetime], list[RecordedUpdate] | None]

LOG = logging.getLogger("litellm_evenkeel.metrics")
# One event in so many is done by LiteLLM's own code as well, watched, and compared.
CHECKED = 1024
FIRST_CHECKED = 3
MOST_PLANS = 1024
ANEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PlanCacheSettings:
    """How much of it there may be."""

    every: float = 1.0
    """Seconds from an event to its series."""
    most_waiting: int = 50_000
    most_bundles: int = 20_000
    most_failures: int = 5_000


class PlanCache:
    """What is done for events. Events may come from any thread; what is done about them is done in one loop."""

    def __init__(
        self,
        store: MetricStore,
        readers: LiteLLMReaders,
        cleaned: Callable[[Any], Any],
        watch: Watch,
        *,
        clock: Callable[[], float],
        settings: PlanCacheSettings | None = None,
    ) -> None:
        self._store, self._readers, self._cleaned, self._watch = store, readers, cleaned, watch
        self._clock = clock
        self._unbounded = replace(readers, bounded=lambda _name, value: value)
        self._settings = settings or PlanCacheSettings()
        self.line = UpdateQueue(store, every=self._settings.every, most=self._settings.most_waiting)
        self._bound_plans: OrderedDict[Hashable, BoundPlan] = OrderedDict()
        self._plans: OrderedDict[Hashable, _CachedPlan] = OrderedDict()
        self._failures: OrderedDict[Hashable, tuple[BoundPlan | None, float]] = OrderedDict()
        self.counts: Counter[str] = Counter()
        """Events by what became of them."""

    def take_success(self, event: Raw, answer: object, start: datetime, end: datetime) -> bool:
        """Take an event in, or return that it is one that LiteLLM's own code has to look at."""
        try:
            facts = read(event, answer, start, end, self._readers)
            key = facts[:2]
            bound_plan = self._bound_plans.get(key)
        except Exception:  # noqa: BLE001 - LiteLLM's own code knows what to do with whatever this is
            self.counts["unusual"] += 1
            return False
        self.counts["seen"] += 1
        if bound_plan is None:
            bound_plan = self._bound(key, facts, event, answer, start, end)
            if bound_plan is None:
                self.counts["unplanned"] += 1
                return False
        elif not self.counts["seen"] % CHECKED and not self._is_as_planned(bound_plan.plan, event, answer, start, end):
            self._reject_plan(bound_plan.plan)
            return False
        else:
            self._bound_plans.move_to_end(key)
        self.line.take(bound_plan, facts.numbers)
        return True

    def take_failure(self, key: Hashable, watch: Callable[[], list[RecordedUpdate] | None]) -> bool:
        """Take in a failure, or return that it is one that LiteLLM's own code has to look at.

        What is done for such failures is found out anew now and then: which models there are may change.
        """
        now = self._clock()
        known = self._failures.get(key)
        if known is None or known[1] <= now:
            updates = watch()
            # Where nothing is counted, LiteLLM may have failed: the next one is for its own code as well.
            plan = constant_plan(updates) if updates else None
            bound_plan = None if plan is None else self._admitted(BoundPlan(plan, (), self._cleaned))
            known = self._failures[key] = bound_plan, now + ANEW_SECONDS
            self._failures.move_to_end(key)
            while len(self._failures) > self._settings.most_failures:
                self._failures.popitem(last=False)
        if known[0] is None:
            return False
        self.counts["failures"] += 1
        self.line.take(known[0], ())
        return True

    def _bound(
        self, key: tuple[Any, ...], facts: EventFacts, event: Raw, answer: object, start: datetime, end: datetime
    ) -> BoundPlan | None:
        plan_key = _plan_key(facts)
        known = self._plans.get(plan_key)
        if known is None:
            known = self._plans[plan_key] = _CachedPlan(self._made(event, answer, start, end))
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        if known.plan is None:
            return None
        if known.checks < FIRST_CHECKED:
            known.checks += 1
            if not self._is_as_planned(known.plan, event, answer, start, end):
                self._reject_plan(known.plan)
                return None
        bound_plan = self._bound_plans[key] = self._admitted(BoundPlan(known.plan, facts.label_values, self._cleaned))
        while len(self._bound_plans) > self._settings.most_bundles:
            self._bound_plans.popitem(last=False)
        return bound_plan

    def _admitted(self, bound_plan: BoundPlan) -> BoundPlan:
        """Return a bundle. Where series are few, its series get their places now, in the order of the events."""
        if self._store.is_limited:
            # If that fails, it is done again with the batch, which reports it.
            with self._store.lock, suppress(OSError):
                bound_plan.prepare()
        return bound_plan

    def _made(self, event: Raw, answer: object, start: datetime, end: datetime) -> UpdatePlan | None:
        try:
            sentinel = SentinelEvent()
            marked, moments = sentinel.of(event), sentinel.moments(start, end)
            facts = read(marked, answer, *moments, self._unbounded)
            updates = self._watch(marked, answer, *moments)
            plan = None if updates is None else derive_plan(updates, facts, self._cleaned)
            return None if plan is None or has_unmarked_labels(plan, marked, facts) else plan
        except Exception as error:  # noqa: BLE001 - then there is no plan, and nothing is lost
            LOG.debug("evenkeel: no plan for such events: %s", type(error).__name__)
            return None

    def _is_as_planned(self, plan: UpdatePlan, event: Raw, answer: object, start: datetime, end: datetime) -> bool:
        updates = self._watch(event, answer, start, end)
        if updates is None:
            return False
        facts = read(event, answer, start, end, self._unbounded)
        return _alike(updates, plan.predicted(facts, self._cleaned))

    def _reject_plan(self, plan: UpdatePlan) -> None:
        """Leave such events to LiteLLM's own code from now on."""
        self.counts["distrusted"] += 1
        LOG.warning(
            "evenkeel: events of one kind are not counted as LiteLLM would; its own code counts them from now on."
        )
        for known in self._plans.values():
            if known.plan is plan:
                known.plan = None
        for key in [key for key, bound_plan in self._bound_plans.items() if bound_plan.plan is plan]:
            del self._bound_plans[key]


@dataclass(slots=True)
class _CachedPlan:
    plan: UpdatePlan | None
    checks: int = 0


def _plan_key(facts: EventFacts) -> Hashable:
    """Return what events have in common of which the same is done."""
    who = facts.label_values
    kinds = tuple([True if value and isinstance(value, str) else value for value in who[:LABELS]])
    return kinds, who[LABELS:], facts.shape


def _alike(updates: list[RecordedUpdate], predicted: list[RecordedUpdate]) -> bool:
    def told(one: RecordedUpdate) -> tuple[str, tuple[str, ...], str]:
        return one.family.name, one.labels, one.verb

    mine, theirs = sorted(predicted, key=told), sorted(updates, key=told)
    return len(mine) == len(theirs) and all(
        told(one) == told(other) and (one.verb == "remove" or math.isclose(one.value, other.value, rel_tol=1e-9))
        for one, other in zip(mine, theirs, strict=True)
    )
