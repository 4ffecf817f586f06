"""What the callback tells of itself: how much it counted, dropped and folded, and how it went with budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.budgets import BudgetEntity
from litellm_evenkeel.instrumentation.definitions import MetricDefinition as Described, MetricType
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.budgets import BudgetCounts
    from litellm_evenkeel.metrics.registry.families import Family, MetricStore
    from litellm_evenkeel.metrics.registry.label_limits import LabelLimits
    from litellm_evenkeel.metrics.replay.plan_cache import PlanCache

LARGEST = "livemax"
LOOKUPS = ("hits", "misses", "stale", "negative", "joined")

EVENTS = Described(
    MetricType.COUNTER,
    "metrics_events",
    "Successes that were seen; those that LiteLLM's own code counted, because they were unusual or unplanned; failures "
    "that were like others; and distrusted, plans that were given up as LiteLLM does otherwise: alert on these.",
    ("outcome",),
)
DROPPED = Described(
    MetricType.COUNTER, "metrics_dropped", "Events that were not counted, and why. Alert on any.", ("reason",)
)
WAITING = Described(MetricType.GAUGE, "metrics_waiting", "Events that were taken in and are not counted yet.")
FLUSH_SECONDS = Described(MetricType.COUNTER, "metrics_flush_seconds", "Seconds that it took to count events.")
COLLAPSED = Described(
    MetricType.COUNTER,
    "metrics_folded",
    "How often a label was told as other, because it has too many values: several times for some events.",
    ("label",),
)
LABEL_VALUES = Described(
    MetricType.GAUGE,
    "metrics_label_values",
    "How many values of a label have series of their own.",
    ("label",),
    LARGEST,
)
SERIES = Described(MetricType.GAUGE, "metrics_series", "How many series there are in all.")
EXPIRED = Described(MetricType.COUNTER, "metrics_expired", "Series that were removed, as they were silent for long.")
RETIRED = Described(
    MetricType.COUNTER,
    "metrics_retired",
    "What series that were removed had come to, by their name. With those that are there, it makes the total.",
    ("series",),
)
ABLATION = Described(
    MetricType.GAUGE, "metrics_ablation", "1 while a part of the work is left out, or done as once.", ("mode",), LARGEST
)
LOOKED_UP = Described(
    MetricType.COUNTER,
    "budget_lookups",
    "Questions for a budget: hits, misses, stale (answered by an old value, and looked up), negative (known not to be "
    "there), joined (another one was looking it up already).",
    ("entity", "outcome"),
)
FAILURES = Described(
    MetricType.COUNTER,
    "budget_lookup_failures",
    "Lookups of budgets that failed, by where and why. Alert on any.",
    ("entity", "source", "reason"),
)
AGE = Described(
    MetricType.GAUGE, "budget_age_seconds", "Age of the oldest budget that was used lately.", ("entity",), LARGEST
)
KNOWN = Described(MetricType.GAUGE, "budget_known", "How many budgets are known.", ("entity",), LARGEST)
TURNED_AWAY = Described(
    MetricType.COUNTER,
    "budget_turned_away",
    "Budgets that were not looked up: too many waited already, or no table can hold such an id.",
)
STATEMENTS = Described(MetricType.COUNTER, "budget_statements", "Questions to Postgres, each for many budgets.")
LOOKING = Described(MetricType.GAUGE, "budget_waiting", "Budgets that are being looked up.")

OF_EVENTS = (EVENTS, DROPPED, WAITING, FLUSH_SECONDS, COLLAPSED, LABEL_VALUES, SERIES, EXPIRED, RETIRED, ABLATION)
OF_BUDGETS = (LOOKED_UP, FAILURES, AGE, KNOWN, TURNED_AWAY, STATEMENTS, LOOKING)
ALL = (*OF_EVENTS, *OF_BUDGETS)


class SelfMetrics:
    """Series of ours, brought up to date when somebody looks."""

    def __init__(
        self,
        store: MetricStore,
        series: PlanCache,
        label_limits: LabelLimits,
        budgets: Callable[[], BudgetCounts | None],
    ) -> None:
        self._store, self._series, self._label_limits, self._budgets = store, series, label_limits, budgets
        self._families = {one: family(store, one) for one in ALL if one is not ABLATION}

    def refresh(self) -> None:
        """Bring all of it up to date."""
        series = self._series
        for outcome, number in series.counts.items():
            self._tell(EVENTS, number, outcome)
        for reason, number in series.queue.dropped.items():
            self._tell(DROPPED, number, reason)
        self._tell(WAITING, series.queue.waiting)
        self._tell(FLUSH_SECONDS, series.queue.busy_seconds)
        for label, number in self._label_limits.collapsed.items():
            self._tell(COLLAPSED, number, label)
        for label, number in self._label_limits.value_counts().items():
            self._tell(LABEL_VALUES, number, label)
        self._tell(SERIES, sum(len(one.children) for one in self._store.families.values()))
        self._tell(EXPIRED, self._store.expired_count)
        for name, amount in self._store.removed_totals.items():
            self._tell(RETIRED, amount, name)
        counts = self._budgets()
        if counts is not None:
            self._tell_budgets(counts)

    def _tell_budgets(self, counts: BudgetCounts) -> None:
        for kind in BudgetEntity:
            of_kind = counts.kinds.get(kind)
            if of_kind is None:
                continue
            for outcome in LOOKUPS:
                self._tell(LOOKED_UP, getattr(of_kind, outcome), kind, outcome)
            self._tell(AGE, of_kind.oldest_age, kind)
            self._tell(KNOWN, of_kind.known, kind)
        for (kind, source, reason), number in counts.failures.items():
            self._tell(FAILURES, number, kind, source, reason)
        self._tell(TURNED_AWAY, counts.rejected)
        self._tell(STATEMENTS, counts.statements)
        self._tell(LOOKING, counts.waiting)

    def _tell(self, one: Described, number: float | None, *labels: str) -> None:
        self._families[one].child(labels).value = number


def family(store: MetricStore, one: Described) -> Family:
    """Return a family of ours, as it is described."""
    made: Family
    if one.type is MetricType.COUNTER:
        made = Counter(store, one.base_name, one.help, one.labels)
    else:
        made = Gauge(store, one.base_name, one.help, one.labels, multiprocess_mode=one.multiprocess_mode)
    # LiteLLM's limit is for its own series.
    made.is_limited = False
    return made
