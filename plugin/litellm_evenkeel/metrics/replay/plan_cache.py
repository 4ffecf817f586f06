"""Cache of update plans: events are queued at once, and their updates applied later in batches, in order of arrival."""

from __future__ import annotations

import logging
import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import LABEL_COUNT, EventFacts, LiteLLMReaders, Raw, read_facts
from litellm_evenkeel.metrics.replay.sentinel_event import SentinelEvent
from litellm_evenkeel.metrics.replay.update_plan import (
    BoundPlan,
    UpdatePlan,
    constant_plan,
    derive_plan,
    has_unmarked_labels,
)
from litellm_evenkeel.metrics.replay.update_queue import UpdateQueue
from litellm_evenkeel.support.lru_dict import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from datetime import datetime

    from litellm_evenkeel.metrics.registry.families import MetricStore, RecordedUpdate

    RecordSuccess = Callable[[Raw, object, datetime, datetime], list[RecordedUpdate] | None]

LOG = logging.getLogger("litellm_evenkeel.metrics")
# One in this many events is also run through LiteLLM's own code, recorded, and compared with its plan.
EVENTS_PER_CHECK = 1024
# Number of bound plans that are compared when they are made, for each plan.
FIRST_CHECKS = 3
MAX_PLANS, MAX_BOUND_PLANS, MAX_FAILURES = 1024, 20_000, 5_000
FAILURE_PLAN_SECONDS = 60.0


class PlanCache:
    """Plans and queue of one worker. Events may come from any thread; their updates are applied in one event loop."""

    def __init__(
        self,
        store: MetricStore,
        readers: LiteLLMReaders,
        clean: Callable[[Any], Any],
        record: RecordSuccess,
        *,
        clock: Callable[[], float],
        flush_seconds: float = 1.0,
        max_waiting: int = 50_000,
    ) -> None:
        self._store, self._readers, self._clean, self._record = store, readers, clean, record
        self._clock = clock
        self._unbounded = replace(readers, bound_value=lambda _name, value: value)
        self.queue = UpdateQueue(store, flush_seconds=flush_seconds, max_waiting=max_waiting)
        self._bound_plans: LruDict[Hashable, BoundPlan] = LruDict(MAX_BOUND_PLANS)
        self._plans: LruDict[Hashable, _CachedPlan] = LruDict(MAX_PLANS)
        self._failures: LruDict[Hashable, tuple[BoundPlan | None, float]] = LruDict(MAX_FAILURES)
        self.counts: Counter[str] = Counter()
        """Number of events by outcome. Failures that LiteLLM's own code counts have none."""

    def take_success(self, event: Raw, answer: object, start: datetime, end: datetime) -> bool:
        """Queue the updates of a success event. Return `False` if LiteLLM's own code has to count it."""
        try:
            facts = read_facts(event, answer, start, end, self._readers)
            key = facts[:2]
            bound_plan = self._bound_plans.get(key)
        except Exception:  # noqa: BLE001 - LiteLLM's own code handles events of any form
            self.counts["unsupported"] += 1
            return False
        if bound_plan is None:
            bound_plan = self._bind(key, facts, event, answer, start, end)
            if bound_plan is None:
                return False
        elif not (self.counts["success"] + 1) % EVENTS_PER_CHECK and not self._matches(
            bound_plan.plan, event, answer, start, end
        ):
            self._reject_plan(bound_plan.plan)
            return False
        else:
            self._bound_plans.move_to_end(key)
        self.counts["success"] += 1
        self.queue.take(bound_plan, facts.numbers)
        return True

    def take_failure(self, key: Hashable, record: Callable[[], list[RecordedUpdate] | None]) -> bool:
        """Queue the updates of a failure. Return `False` if LiteLLM's own code has to count it.

        The updates for a key are recorded again every `FAILURE_PLAN_SECONDS`, because the configured models may change.
        """
        now = self._clock()
        cached = self._failures.get(key)
        if cached is None or cached[1] <= now:
            updates = record()
            # If LiteLLM's code counted nothing, it may have failed: it has to see the next such failure as well.
            plan = constant_plan(updates) if updates else None
            bound_plan = None if plan is None else self._admit(BoundPlan(plan, (), self._clean))
            cached = bound_plan, now + FAILURE_PLAN_SECONDS
            self._failures.put(key, cached)
        if cached[0] is None:
            return False
        self.counts["failure"] += 1
        self.queue.take(cached[0], ())
        return True

    def _bind(
        self, key: tuple[Any, ...], facts: EventFacts, event: Raw, answer: object, start: datetime, end: datetime
    ) -> BoundPlan | None:
        plan_key = _plan_key(facts)
        cached = self._plans.get(plan_key)
        if cached is None:
            cached = _CachedPlan(self._derive(event, answer, start, end))
            self._plans.put(plan_key, cached)
        if cached.plan is None:
            self.counts["unplanned"] += 1
            return None
        if cached.checks < FIRST_CHECKS:
            cached.checks += 1
            if not self._matches(cached.plan, event, answer, start, end):
                self._reject_plan(cached.plan)
                return None
        bound_plan = self._admit(BoundPlan(cached.plan, facts.label_values, self._clean))
        self._bound_plans.put(key, bound_plan)
        return bound_plan

    def _admit(self, bound_plan: BoundPlan) -> BoundPlan:
        """Return `bound_plan`. If series are limited, create its series now, so that they are admitted in event order.

        A batch applies its plans in another order, and would admit other series.
        """
        if self._store.is_limited:
            # If this fails, it is repeated with the batch, which logs the error.
            with self._store.lock, suppress(OSError):
                bound_plan.prepare()
        return bound_plan

    def _derive(self, event: Raw, answer: object, start: datetime, end: datetime) -> UpdatePlan | None:
        try:
            factory = SentinelEvent()
            sentinel, moments = factory.make(event), factory.moments(start, end)
            facts = read_facts(sentinel, answer, *moments, self._unbounded)
            updates = self._record(sentinel, answer, *moments)
            plan = None if updates is None else derive_plan(updates, facts, self._clean)
            return None if plan is None or has_unmarked_labels(plan, sentinel, facts) else plan
        except Exception as error:  # noqa: BLE001 - without a plan, LiteLLM's own code counts such events
            LOG.debug(
                "evenkeel: no update plan for one kind of event (%s). LiteLLM's own code counts such events.",
                type(error).__name__,
            )
            return None

    def _matches(self, plan: UpdatePlan, event: Raw, answer: object, start: datetime, end: datetime) -> bool:
        updates = self._record(event, answer, start, end)
        if updates is None:
            return False
        facts = read_facts(event, answer, start, end, self._unbounded)
        return _are_equal(updates, plan.predicted(facts, self._clean))

    def _reject_plan(self, plan: UpdatePlan) -> None:
        """Leave events with this plan to LiteLLM's own code from now on."""
        self.counts["plan_rejected"] += 1
        LOG.warning(
            "evenkeel: an update plan differs from what LiteLLM counts. LiteLLM's own code counts such events "
            "from now on: the metrics stay correct, but cost more. Please report it with your version of LiteLLM."
        )
        for cached in self._plans.values():
            if cached.plan is plan:
                cached.plan = None
        for key in [key for key, bound_plan in self._bound_plans.items() if bound_plan.plan is plan]:
            del self._bound_plans[key]


@dataclass(slots=True)
class _CachedPlan:
    plan: UpdatePlan | None
    checks: int = 0


def _plan_key(facts: EventFacts) -> Hashable:
    """Return the key that events with the same plan share: which labels they have, not which values."""
    values = facts.label_values
    kinds = tuple([True if value and isinstance(value, str) else value for value in values[:LABEL_COUNT]])
    return kinds, values[LABEL_COUNT:], facts.shape


def _are_equal(updates: list[RecordedUpdate], predicted: list[RecordedUpdate]) -> bool:
    def key(update: RecordedUpdate) -> tuple[str, tuple[str, ...], str]:
        return update.family.name, update.labels, update.operation

    predicted, updates = sorted(predicted, key=key), sorted(updates, key=key)
    return len(predicted) == len(updates) and all(
        key(expected) == key(actual)
        and (expected.operation == "remove" or math.isclose(expected.value, actual.value, rel_tol=1e-9))
        for expected, actual in zip(predicted, updates, strict=True)
    )
