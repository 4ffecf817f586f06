"""Metrics of the callback itself: counted, dropped and collapsed events, and lookups of budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.instrumentation.definitions import MetricDefinition, MetricType
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets import BudgetCounts
    from litellm_evenkeel.metrics.registry.families import Family, MetricStore
    from litellm_evenkeel.metrics.registry.label_limits import LabelLimits
    from litellm_evenkeel.metrics.replay.plan_cache import PlanCache

MAX_OF_WORKERS = "livemax"
LOOKUP_OUTCOMES = {"hit": "hits", "miss": "misses", "stale": "stale", "negative": "negative", "coalesced": "coalesced"}
"""Outcomes, and the counters of each."""

EVENTS = MetricDefinition(
    MetricType.COUNTER,
    "metrics_events",
    "Events by outcome: success and failure (counted by a plan); unsupported (of an unexpected form) and unplanned (no "
    "update plan could be derived), which LiteLLM's own code counts; plan_rejected (LiteLLM counts otherwise: alert on "
    "these). Failures that LiteLLM's own code counts are in none.",
    ("outcome",),
)
DROPPED = MetricDefinition(
    MetricType.COUNTER, "metrics_dropped", "Events that were not counted, by reason. Alert on any.", ("reason",)
)
QUEUE_LENGTH = MetricDefinition(MetricType.GAUGE, "metrics_queue_length", "Events that wait to be counted.")
FLUSH_SECONDS = MetricDefinition(MetricType.COUNTER, "metrics_flush_seconds", "Seconds spent counting events.")
COLLAPSED = MetricDefinition(
    MetricType.COUNTER,
    "metrics_labels_collapsed",
    "Label values that were replaced by `other`, because the label has too many; several for some events.",
    ("label",),
)
LABEL_VALUES = MetricDefinition(
    MetricType.GAUGE,
    "metrics_label_values",
    "Values of a label that have series of their own.",
    ("label",),
    MAX_OF_WORKERS,
)
SERIES = MetricDefinition(MetricType.GAUGE, "metrics_series", "Series of all metrics together.")
EXPIRED = MetricDefinition(
    MetricType.COUNTER, "metrics_expired_series", "Series that were removed because they were idle."
)
REMOVED = MetricDefinition(
    MetricType.COUNTER,
    "metrics_removed_series",
    "Totals of removed series, by metric. Together with the existing series, they make the grand total.",
    ("metric",),
)
LOOKUPS = MetricDefinition(
    MetricType.COUNTER,
    "budget_lookups",
    "Lookups of budgets by outcome: hit, miss, stale (an old value was used and looked up again), negative (known not "
    "to exist), coalesced (another lookup of it was running).",
    ("entity", "outcome"),
)
FAILURES = MetricDefinition(
    MetricType.COUNTER,
    "budget_lookup_failures",
    "Failed lookups of budgets, by source and reason. Alert on any.",
    ("entity", "source", "reason"),
)
AGE = MetricDefinition(
    MetricType.GAUGE, "budget_age_seconds", "Age of the oldest recently used budget.", ("entity",), MAX_OF_WORKERS
)
KNOWN = MetricDefinition(MetricType.GAUGE, "budget_known", "Known budgets.", ("entity",), MAX_OF_WORKERS)
REJECTED = MetricDefinition(
    MetricType.COUNTER,
    "budget_rejected_lookups",
    "Budgets that were not looked up, because too many lookups were waiting or no table can contain such an id.",
)
STATEMENTS = MetricDefinition(MetricType.COUNTER, "budget_statements", "Postgres queries, each for many budgets.")
LOOKUPS_IN_FLIGHT = MetricDefinition(MetricType.GAUGE, "budget_lookups_in_flight", "Budgets that are being looked up.")

OF_EVENTS = (EVENTS, DROPPED, QUEUE_LENGTH, FLUSH_SECONDS, COLLAPSED, LABEL_VALUES, SERIES, EXPIRED, REMOVED)
OF_BUDGETS = (LOOKUPS, FAILURES, AGE, KNOWN, REJECTED, STATEMENTS, LOOKUPS_IN_FLIGHT)
ALL = (*OF_EVENTS, *OF_BUDGETS)


class SelfMetrics:
    """Families of the callback's own metrics, which are updated before each scrape."""

    def __init__(
        self,
        store: MetricStore,
        plan_cache: PlanCache,
        label_limits: LabelLimits,
        budget_counts: Callable[[], BudgetCounts | None],
    ) -> None:
        self._store, self._plan_cache, self._label_limits = store, plan_cache, label_limits
        self._budget_counts = budget_counts
        self._families = {definition: family(store, definition) for definition in ALL}

    def refresh(self) -> None:
        """Update all metrics."""
        queue = self._plan_cache.queue
        for outcome, number in self._plan_cache.counts.items():
            self._set(EVENTS, number, outcome)
        for reason, number in queue.dropped.items():
            self._set(DROPPED, number, reason)
        self._set(QUEUE_LENGTH, queue.waiting)
        self._set(FLUSH_SECONDS, queue.busy_seconds)
        for label, number in self._label_limits.collapsed.items():
            self._set(COLLAPSED, number, label)
        for label, number in self._label_limits.value_counts().items():
            self._set(LABEL_VALUES, number, label)
        self._set(SERIES, sum(len(counted.series) for counted in self._store.families.values()))
        self._set(EXPIRED, self._store.expired_count)
        for name, amount in self._store.removed_totals.items():
            self._set(REMOVED, amount, name)
        counts = self._budget_counts()
        if counts is not None:
            self._set_budgets(counts)

    def _set_budgets(self, counts: BudgetCounts) -> None:
        for kind, of_kind in counts.kinds.items():
            for outcome, counter in LOOKUP_OUTCOMES.items():
                self._set(LOOKUPS, getattr(of_kind, counter), kind, outcome)
            self._set(AGE, of_kind.oldest_age_seconds, kind)
            self._set(KNOWN, of_kind.known, kind)
        for (kind, source, reason), number in counts.failures.items():
            self._set(FAILURES, number, kind, source, reason)
        self._set(REJECTED, counts.rejected)
        self._set(STATEMENTS, counts.statements)
        self._set(LOOKUPS_IN_FLIGHT, counts.waiting)

    def _set(self, definition: MetricDefinition, number: float | None, *labels: str) -> None:
        self._families[definition].get_or_create(labels).value = number


def family(store: MetricStore, definition: MetricDefinition) -> Family:
    """Return a new family with this definition."""
    name, help_text, labels = definition.base_name, definition.help, definition.labels
    new: Family
    match definition.type:
        case MetricType.GAUGE:
            new = Gauge(store, name, help_text, labels, multiprocess_mode=definition.multiprocess_mode)
        case MetricType.HISTOGRAM:
            new = Histogram(store, name, help_text, labels, buckets=definition.buckets)
        case MetricType.COUNTER:
            new = Counter(store, name, help_text, labels)
    # LiteLLM's limit on the number of series is meant for its own metrics.
    new.is_limited = False
    return new
