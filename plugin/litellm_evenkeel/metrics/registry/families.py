"""Metric families with the interface of the Prometheus client, but so cheap to update that every request can do it.

LiteLLM's own code creates and updates them through `labels(...)`, as it would with the client's classes. Code that runs
for every request looks up no labels: it holds the series, which are plain objects with plain numbers.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from prometheus_client.metrics_core import Metric

from litellm_evenkeel.metrics.registry.label_limits import END_USER, OTHER, UNLIMITED_VALUES
from litellm_evenkeel.metrics.registry.series import Labels, Series, require_non_negative

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics import MetricWrapperBase


DISABLE_CREATED_VARIABLE = "PROMETHEUS_DISABLE_CREATED_SERIES"


class MetricStore:
    """All families of one callback."""

    def __init__(
        self,
        registry: CollectorRegistry,
        bound_value: Callable[[str, Any], Any] = lambda _name, value: value,
        max_series: float = math.inf,
    ) -> None:
        self.lock = threading.RLock()
        """Lock that is held while numbers change, because LiteLLM sometimes calls from several threads."""
        self.families: dict[str, Family] = {}
        self.bound_value = bound_value
        """Function that returns the exported value of a label, given its name and value."""
        self.max_series = max_series
        """Maximum number of series in a family; the first ones are admitted, and the rest is counted as `other`."""
        self.admits: Callable[[Family, Labels], bool] | None = None
        """Function that decides instead whether a series is admitted, if several workers share the maximum."""
        self.max_end_user_series = math.inf
        """Maximum number of series with an end user in a family."""
        self.expired_count = 0
        """Number of series that were removed because they were idle."""
        self.epoch = 0
        """Number of times that series were removed: holders of series look them up again when it changes."""
        self.removed_totals: defaultdict[str, float] = defaultdict(float)
        """Totals of removed series, by exported name.

        They are not added to another series, because queries over both series would count the same increase twice.
        """
        self.removal_sink: Callable[[Family, Series], None] | None = None
        """Function that takes removed counters and histograms instead, if several workers have parts of a series."""
        self.recording = _Recording()
        self.defer: Callable[[Series, float | None], bool] = lambda _series, _value: False
        """Function that queues a value behind waiting updates; it returns `False` if the caller has to set it."""
        self.has_waiting_updates: Callable[[], bool] = lambda: False
        self.registry = registry
        self.has_created = os.environ.get(DISABLE_CREATED_VARIABLE, "").lower() not in {"true", "1", "t"}

    @property
    def is_limited(self) -> bool:
        """Whether the number of series in a family is limited, so that the order of their creation matters."""
        return self.max_series != math.inf

    def retire(self, name: str, value: str) -> None:
        """Remove all series in which the label `name` has this value."""
        with self.lock:
            self.epoch += 1
            for family in self.families.values():
                if name in family.labelnames:
                    family.retire(family.labelnames.index(name), value)

    def record(self, running: Coroutine[Any, Any, None]) -> list[RecordedUpdate] | None:
        """Run a coroutine that updates metrics, and return the updates without applying them.

        Return `None` if the coroutine suspends: other code could update metrics before it resumes, so the record would
        be wrong.
        """
        with self.lock:
            updates = self.recording.updates = list[RecordedUpdate]()
            try:
                running.send(None)
            except StopIteration:
                return updates
            finally:
                self.recording.updates = None
                running.close()
        return None


class Family(ABC):
    """All series of one metric."""

    kind: ClassVar[str]
    client_class: ClassVar[type[MetricWrapperBase]]
    """Counterpart in the Prometheus client."""

    def __init__(
        self, store: MetricStore, name: str, documentation: str, labelnames: Sequence[str] = (), **options: Any
    ) -> None:
        # The client's class raises `ValueError` for wrong names and buckets. Without labels, it would create a series,
        # and write it to the workers' folder.
        self.client_class(name, documentation, labelnames or ("none",), registry=None, **options)
        self.store = store
        self.name = name
        self.documentation = documentation
        self.multiprocess_mode: str = options.get("multiprocess_mode", "livemostrecent")
        """Rule that merges a gauge's values from several workers; by default, the latest of a live worker."""
        self.labelnames = tuple(labelnames)
        self.series: dict[Labels, Series] = {}
        self.is_limited = bool(self.labelnames)
        """Whether `MetricStore.max_series` applies to this family."""
        self._end_user_index = self.labelnames.index(END_USER) if END_USER in self.labelnames else None
        self._end_user_series = 0
        self._overflow: Series | None = None
        """Series in which further ones are counted. It does not count towards the maximum, and never expires."""
        if not self.labelnames:
            self.get_or_create(())
        store.registry.register(self)
        store.families[name] = self

    def labels(self, *values: object, **named: object) -> Any:
        """Return the series of these label values, given by position or by name."""
        labels = self._label_values(values, named)
        updates = self.store.recording.updates
        return self.get_or_create(labels) if updates is None else RecordingMetric(self, labels, updates)

    def remove(self, *values: object) -> None:
        """Remove the series of these label values."""
        labels = self._label_values(values, {})
        updates = self.store.recording.updates
        if updates is not None:
            updates.append(RecordedUpdate(self, labels, "remove", math.nan))
        # A waiting update may still create the series, so the removal has to wait behind it.
        elif (labels in self.series or self.store.has_waiting_updates()) and not self.store.defer(
            self.get_or_create(labels), None
        ):
            self.hide(labels)

    def clear(self) -> None:
        """Remove all series."""
        with self.store.lock:
            for series in self.series.values():
                series.value = None

    def inc(self, amount: float = 1) -> None:
        """Add `amount` to the only series of a family without labels."""
        self.labels().inc(amount)

    def dec(self, amount: float = 1) -> None:
        """Subtract `amount` from the only series of a family without labels."""
        self.labels().dec(amount)

    def set(self, value: float) -> None:
        """Set the only series of a family without labels."""
        self.labels().set(value)

    def observe(self, amount: float) -> None:
        """Add an observation to the only series of a family without labels."""
        self.labels().observe(amount)

    def get_or_create(self, labels: Labels) -> Series:
        """Return the series of `labels`, created if there is none; that of `other` if there are too many."""
        bound_value = self.store.bound_value
        bounded = tuple([bound_value(name, value) for name, value in zip(self.labelnames, labels, strict=True)])
        series = self.series.get(bounded)
        if series is None:
            with self.store.lock:
                series = self.series.get(bounded) or self._admit(bounded)
        return series

    def retire(self, index: int, value: str) -> None:
        """Remove the series whose label at `index` has this value. The caller holds the lock."""
        for labels in [labels for labels in self.series if labels[index] == value]:
            self._evict(labels)

    def expire(self, before: float, end_user_before: float) -> None:
        """Remove series that were last updated before these Unix times. The caller holds the lock."""
        candidates = [series for series in self.series.values() if series.updated_at < max(before, end_user_before)]
        for series in candidates:
            if series is not self._overflow and (series.updated_at < before or self._is_of_end_user(series.labels)):
                self._evict(series.labels)
                self.store.expired_count += 1

    def remove_series(self, labels: Labels) -> None:
        """Remove a series that no other code holds."""
        with self.store.lock:
            if labels in self.series:
                self._evict(labels)

    def hide(self, labels: Labels) -> None:
        """Stop exporting a series until its next update. Code that holds it may go on using it."""
        with self.store.lock:
            series = self.series.get(labels)
            if series is not None:
                series.value = None

    def describe(self) -> Iterator[Metric]:
        """Yield the metric without its samples, as the Prometheus client's registry requires."""
        yield Metric(self.name, self.documentation, self.kind)

    def collect(self) -> Iterator[Metric]:
        """Yield the metric with its samples."""
        metric = Metric(self.name, self.documentation, self.kind)
        for series in list(self.series.values()):
            if series.value is not None:
                self._add_samples(metric, dict(zip(self.labelnames, series.labels, strict=True)), series, series.value)
        yield metric

    def _admit(self, labels: Labels) -> Series:
        is_of_end_user = self._is_of_end_user(labels)
        if is_of_end_user and self._end_user_series >= self.store.max_end_user_series:
            index = self._end_user_index
            return self.get_or_create(tuple([OTHER if i == index else label for i, label in enumerate(labels)]))
        if not self._has_room(labels):
            return self._overflow_series((OTHER,) * len(labels))
        series = self.series[labels] = self._new_series(labels)
        self._end_user_series += is_of_end_user
        return series

    def _has_room(self, labels: Labels) -> bool:
        if not self.is_limited or not self.store.is_limited:
            return True
        if self.store.admits is not None:
            return self.store.admits(self, labels)
        return len(self.series) - (self._overflow is not None) < self.store.max_series

    def _evict(self, labels: Labels) -> None:
        self._end_user_series -= self._is_of_end_user(labels)
        series = self.series.pop(labels)
        if series.value is None or self.kind == "gauge":
            return
        if self.store.removal_sink is None:
            self._keep_total(series)
        else:
            self.store.removal_sink(self, series)

    def _keep_total(self, series: Series) -> None:  # noqa: B027 - gauges have no total
        """Add a removed series to the totals of removed series, if its kind has a total."""

    def _is_of_end_user(self, labels: Labels) -> bool:
        return self._end_user_index is not None and labels[self._end_user_index] not in UNLIMITED_VALUES

    def _overflow_series(self, labels: Labels) -> Series:
        series = self.series.get(labels)
        if series is None:
            series = self._overflow = self.series[labels] = self._new_series(labels)
        return series

    @abstractmethod
    def _new_series(self, labels: Labels) -> Series:
        """Return a series without updates."""

    def _add_samples(self, metric: Metric, labels: dict[str, str], series: Series, value: float) -> None:
        del series
        metric.add_sample(self.name, labels, value)

    def _label_values(self, values: tuple[object, ...], named: dict[str, object]) -> Labels:
        if named:
            if values or named.keys() != set(self.labelnames):
                raise ValueError("Incorrect label names")
            return tuple([str(named[name]) for name in self.labelnames])
        if len(values) != len(self.labelnames):
            raise ValueError("Incorrect label count")
        return tuple([str(value) for value in values])


class RecordedUpdate(NamedTuple):
    """One update that was recorded instead of applied."""

    family: Family
    labels: Labels
    operation: str
    """`inc`, `set`, `observe` or `remove`."""
    value: float
    """`nan` if the series is removed."""


class _Recording(threading.local):
    """Recorded updates of the current thread; while they are not `None`, updates are recorded and not applied."""

    updates: list[RecordedUpdate] | None = None


class RecordingMetric:
    """Stand-in for a series while updates are recorded."""

    __slots__ = ("_family", "_labels", "_updates")

    def __init__(self, family: Family, labels: Labels, updates: list[RecordedUpdate]) -> None:
        self._family, self._labels, self._updates = family, labels, updates

    def inc(self, amount: float = 1) -> None:
        """Record an addition."""
        if self._family.kind == "counter":
            require_non_negative(amount)
        self._record("inc", amount)

    def dec(self, amount: float = 1) -> None:
        """Record a subtraction."""
        self._record("inc", -amount)

    def set(self, value: float) -> None:
        """Record a new value."""
        self._record("set", value)

    def observe(self, amount: float) -> None:
        """Record an observation."""
        self._record("observe", amount)

    def _record(self, operation: str, value: float) -> None:
        self._updates.append(RecordedUpdate(self._family, self._labels, operation, float(value)))
