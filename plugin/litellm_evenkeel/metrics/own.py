"""What the callback tells of itself: how much it counted, dropped and folded, and how it went with budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.budgets import Kind
from litellm_evenkeel.metrics.families import Counter, Family, Gauge

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets import BudgetCounts
    from litellm_evenkeel.metrics.cardinality import Bounds
    from litellm_evenkeel.metrics.families import Store
    from litellm_evenkeel.metrics.series import Series

# Of several workers, what each has is added up, or the largest counts.
SUM, LARGEST = "livesum", "livemax"
LOOKUPS = ("hits", "misses", "stale", "negative", "joined")


class Own:
    """Series of ours, brought up to date when somebody looks."""

    def __init__(
        self, store: Store, series: Series, bounds: Bounds, budgets: Callable[[], BudgetCounts | None]
    ) -> None:
        self._store, self._series, self._bounds, self._budgets = store, series, bounds, budgets
        self._events = self._counter("metrics_events", "Events, and how they were counted.", "outcome")
        self._dropped = self._counter("metrics_dropped", "Events that were not counted, and why.", "reason")
        self._waiting = self._gauge("metrics_waiting", "Events that are taken in and not yet counted.", SUM)
        self._busy = self._counter("metrics_flush_seconds", "Seconds that it took to count events.")
        self._folded = self._counter(
            "metrics_folded", "Events with a label told as other, as there are too many.", "label"
        )
        self._values = self._gauge("metrics_label_values", "Values of a label that have series.", LARGEST, "label")
        self._there = self._gauge("metrics_series", "Series that LiteLLM's families have.", SUM)
        self._lookups = self._counter("budget_lookups", "Questions for a budget.", "entity", "outcome")
        self._failures = self._counter(
            "budget_lookup_failures", "Lookups of budgets that failed.", "entity", "source", "reason"
        )
        self._age = self._gauge(
            "budget_age_seconds", "Age of the oldest budget that was used lately.", LARGEST, "entity"
        )
        self._known = self._gauge("budget_known", "Budgets that are known.", LARGEST, "entity")
        self._asked = self._counter("budget_statements", "Questions to Postgres.")
        self._asking = self._gauge("budget_waiting", "Budgets that are being looked up.", SUM)

    def refresh(self) -> None:
        """Bring all of it up to date."""
        series = self._series
        for outcome, number in series.counts.items():
            self._events.child((outcome,)).value = number
        for reason, number in series.dropped.items():
            self._dropped.child((reason,)).value = number
        self._waiting.child(()).value = series.waiting
        self._busy.child(()).value = series.busy
        for label, number in self._bounds.folded.items():
            self._folded.child((label,)).value = number
        for label, number in self._bounds.values().items():
            self._values.child((label,)).value = number
        self._there.child(()).value = sum(len(one.children) for one in self._store.families.values())
        counts = self._budgets()
        if counts is not None:
            self._refresh_budgets(counts)

    def _refresh_budgets(self, counts: BudgetCounts) -> None:
        for kind in Kind:
            of_kind = counts.kinds.get(kind)
            if of_kind is None:
                continue
            for outcome in LOOKUPS:
                self._lookups.child((kind, outcome)).value = getattr(of_kind, outcome)
            self._age.child((kind,)).value = of_kind.oldest_age
            self._known.child((kind,)).value = of_kind.known
        for (kind, source, reason), number in counts.failures.items():
            self._failures.child((kind, source, reason)).value = number
        self._asked.child(()).value = counts.statements
        self._asking.child(()).value = counts.waiting

    def _counter(self, name: str, about: str, *labels: str) -> Family:
        return Counter(self._store, f"evenkeel_{name}", about, labels)

    def _gauge(self, name: str, about: str, mode: str, *labels: str) -> Family:
        return Gauge(self._store, f"evenkeel_{name}", about, labels, multiprocess_mode=mode)
