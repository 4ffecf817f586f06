"""From events to series: taken in at once, done later in batches, in the order in which they came."""

from __future__ import annotations

import logging
import math
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.facts import LABELS, Facts, Raw, Readers, read
from litellm_evenkeel.metrics.line import Line
from litellm_evenkeel.metrics.marks import Twin
from litellm_evenkeel.metrics.plans import Bundle, Plan, leaks, planned, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from datetime import datetime

    from litellm_evenkeel.metrics.families import Store
    from litellm_evenkeel.metrics.noting import Watched

    Watch = Callable[[Raw, object, datetime, datetime], list[Watched] | None]

LOG = logging.getLogger("litellm_evenkeel.metrics")
# One event in so many is done by LiteLLM's own code as well, watched, and compared.
CHECKED = 1024
FIRST_CHECKED = 3
MOST_PLANS = 1024
ANEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SeriesTerms:
    """How much of it there may be."""

    every: float = 1.0
    """Seconds from an event to its series."""
    most_waiting: int = 50_000
    most_bundles: int = 20_000
    most_failures: int = 5_000


class Series:
    """What is done for events. Events may come from any thread; what is done about them is done in one loop."""

    def __init__(
        self,
        store: Store,
        readers: Readers,
        cleaned: Callable[[Any], Any],
        watch: Watch,
        *,
        clock: Callable[[], float],
        terms: SeriesTerms | None = None,
    ) -> None:
        self._store, self._readers, self._cleaned, self._watch = store, readers, cleaned, watch
        self._clock = clock
        self._unbounded = replace(readers, bounded=lambda _name, value: value)
        self._terms = terms or SeriesTerms()
        self.line = Line(store, every=self._terms.every, most=self._terms.most_waiting)
        self._bundles: OrderedDict[Hashable, Bundle] = OrderedDict()
        self._plans: OrderedDict[Hashable, _Known] = OrderedDict()
        self._failures: OrderedDict[Hashable, tuple[Bundle | None, float]] = OrderedDict()
        self.counts: Counter[str] = Counter()
        """Events by what became of them."""

    def taken(self, event: Raw, answer: object, start: datetime, end: datetime) -> bool:
        """Take an event in, or return that it is one that LiteLLM's own code has to look at."""
        try:
            facts = read(event, answer, start, end, self._readers)
            key = facts[:2]
            bundle = self._bundles.get(key)
        except Exception:  # noqa: BLE001 - LiteLLM's own code knows what to do with whatever this is
            self.counts["unusual"] += 1
            return False
        self.counts["seen"] += 1
        if bundle is None:
            bundle = self._bound(key, facts, event, answer, start, end)
            if bundle is None:
                self.counts["unplanned"] += 1
                return False
        elif not self.counts["seen"] % CHECKED and not self._is_as_planned(bundle.plan, event, answer, start, end):
            self._distrust(bundle.plan)
            return False
        else:
            self._bundles.move_to_end(key)
        self.line.take(bundle, facts.numbers)
        return True

    def failed(self, key: Hashable, watch: Callable[[], list[Watched] | None]) -> bool:
        """Take in a failure, or return that it is one that LiteLLM's own code has to look at.

        What is done for such failures is found out anew now and then: which models there are may change.
        """
        now = self._clock()
        known = self._failures.get(key)
        if known is None or known[1] <= now:
            watched = watch()
            # Where nothing is counted, LiteLLM may have failed: the next one is for its own code as well.
            plan = repeated(watched) if watched else None
            bundle = None if plan is None else self._admitted(Bundle(plan, (), self._cleaned))
            known = self._failures[key] = bundle, now + ANEW_SECONDS
            self._failures.move_to_end(key)
            while len(self._failures) > self._terms.most_failures:
                self._failures.popitem(last=False)
        if known[0] is None:
            return False
        self.counts["failures"] += 1
        self.line.take(known[0], ())
        return True

    def _bound(
        self, key: tuple[Any, ...], facts: Facts, event: Raw, answer: object, start: datetime, end: datetime
    ) -> Bundle | None:
        plan_key = _plan_key(facts)
        known = self._plans.get(plan_key)
        if known is None:
            known = self._plans[plan_key] = _Known(self._made(event, answer, start, end))
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        if known.plan is None:
            return None
        if known.checks < FIRST_CHECKED:
            known.checks += 1
            if not self._is_as_planned(known.plan, event, answer, start, end):
                self._distrust(known.plan)
                return None
        bundle = self._bundles[key] = self._admitted(Bundle(known.plan, facts.who, self._cleaned))
        while len(self._bundles) > self._terms.most_bundles:
            self._bundles.popitem(last=False)
        return bundle

    def _admitted(self, bundle: Bundle) -> Bundle:
        """Return a bundle. Where series are few, its series get their places now, in the order of the events."""
        if self._store.is_limited:
            # If that fails, it is done again with the batch, which reports it.
            with self._store.lock, suppress(OSError):
                bundle.prepare()
        return bundle

    def _made(self, event: Raw, answer: object, start: datetime, end: datetime) -> Plan | None:
        try:
            twin = Twin()
            marked, moments = twin.of(event), twin.moments(start, end)
            facts = read(marked, answer, *moments, self._unbounded)
            watched = self._watch(marked, answer, *moments)
            plan = None if watched is None else planned(watched, facts, self._cleaned)
            return None if plan is None or leaks(plan, marked, facts) else plan
        except Exception as error:  # noqa: BLE001 - then there is no plan, and nothing is lost
            LOG.debug("evenkeel: no plan for such events: %s", type(error).__name__)
            return None

    def _is_as_planned(self, plan: Plan, event: Raw, answer: object, start: datetime, end: datetime) -> bool:
        watched = self._watch(event, answer, start, end)
        if watched is None:
            return False
        facts = read(event, answer, start, end, self._unbounded)
        return _alike(watched, plan.predicted(facts, self._cleaned))

    def _distrust(self, plan: Plan) -> None:
        """Leave such events to LiteLLM's own code from now on."""
        self.counts["distrusted"] += 1
        LOG.warning(
            "evenkeel: events of one kind are not counted as LiteLLM would; its own code counts them from now on."
        )
        for known in self._plans.values():
            if known.plan is plan:
                known.plan = None
        for key in [key for key, bundle in self._bundles.items() if bundle.plan is plan]:
            del self._bundles[key]


@dataclass(slots=True)
class _Known:
    plan: Plan | None
    checks: int = 0


def _plan_key(facts: Facts) -> Hashable:
    """Return what events have in common of which the same is done."""
    who = facts.who
    kinds = tuple([True if value and isinstance(value, str) else value for value in who[:LABELS]])
    return kinds, who[LABELS:], facts.shape


def _alike(watched: list[Watched], predicted: list[Watched]) -> bool:
    def told(one: Watched) -> tuple[str, tuple[str, ...], str]:
        return one.family.name, one.labels, one.verb

    mine, theirs = sorted(predicted, key=told), sorted(watched, key=told)
    return len(mine) == len(theirs) and all(
        told(one) == told(other) and (one.verb == "remove" or math.isclose(one.value, other.value, rel_tol=1e-9))
        for one, other in zip(mine, theirs, strict=True)
    )
