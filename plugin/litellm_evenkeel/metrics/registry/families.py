"""Families of series as Prometheus' client has them, but so cheap to add to that it can be done for every request.

LiteLLM's own code makes them and writes to them, by `labels(...)`, as it would to the client's. What is done often does
not look labels up: it holds the children, plain objects with plain numbers.
"""

from __future__ import annotations

import math
import os
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from prometheus_client.metrics_core import Metric

from litellm_evenkeel.metrics.registry.children import Child, Labels, grown
from litellm_evenkeel.metrics.registry.label_limits import END_USER, NOBODYS, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics import MetricWrapperBase


NO_CREATED = "PROMETHEUS_DISABLE_CREATED_SERIES"


class MetricStore:
    """All families of one callback."""

    def __init__(
        self,
        registry: CollectorRegistry,
        bounded: Callable[[str, Any], Any] = lambda _name, value: value,
        most_series: float = math.inf,
    ) -> None:
        self.lock = threading.RLock()
        """Held while numbers change: LiteLLM calls from several threads at times."""
        self.families: dict[str, Family] = {}
        self.bounded = bounded
        """What a label's value is told as, by the label's name."""
        self.most_series = most_series
        """How many a family may have; what goes beyond is counted as others. Those that come first have the places."""
        self.admits: Callable[[Family, Labels], bool] | None = None
        """What decides instead which series have a place, where several workers share the places."""
        self.most_of_end_users = math.inf
        """How many of those may be of an end user."""
        self.expired = 0
        """How many were let go because they were silent."""
        self.epoch = 0
        """How often series were let go: whoever holds some has to look them up anew."""
        self.removed_totals: defaultdict[str, float] = defaultdict(float)
        """What series that are gone had come to, by the name that they were told under.

        It is not added to another series: who has seen both grow would see it grow twice.
        """
        self.removal_sink: Callable[[Family, Child], None] | None = None
        """Who takes in counters that are gone, instead of that: where several workers have parts of a series."""
        self._tapping = threading.local()
        self.defer: Callable[[Child, float | None], bool] = lambda _child, _value: False
        """Keeps what is set in the order of events that wait; says whether it does."""
        self.is_waiting: Callable[[], bool] = lambda: False
        self._registry = registry
        self.has_created = os.environ.get(NO_CREATED, "").lower() not in {"true", "1", "t"}

    @property
    def is_limited(self) -> bool:
        """Return whether families have only so many series, so that it matters which of them come first."""
        return self.most_series != math.inf

    @property
    def tap(self) -> UpdateRecorder | None:
        """While it is there, nothing is written in this thread."""
        return getattr(self._tapping, "tap", None)

    @tap.setter
    def tap(self, tap: UpdateRecorder | None) -> None:
        self._tapping.tap = tap

    def retire(self, name: str, value: str) -> None:
        """Let all series go in which a label has this value."""
        with self.lock:
            self.epoch += 1
            for family in self.families.values():
                if name in family.labelnames:
                    family.retire(family.labelnames.index(name), value)

    def add(self, family: Family) -> None:
        """Know of a family, and let Prometheus ask it."""
        self._registry.register(family)
        self.families[family.name] = family


class Family:
    """All series of one name."""

    kind: ClassVar[str]
    made: ClassVar[type[Child]] = Child
    clients: ClassVar[type[MetricWrapperBase]]
    """What Prometheus' client has in its place."""

    def __init__(
        self, store: MetricStore, name: str, documentation: str, labelnames: Sequence[str] = (), **options: Any
    ) -> None:
        self._refuse_what_the_client_refuses(name, documentation, labelnames, options)
        self.store = store
        self.name = name
        self.about = documentation
        self.mode: str = options.get("multiprocess_mode", "livemostrecent")
        """Of a gauge with several workers: what one value becomes of theirs. Of those that live, who heard it last."""
        self.labelnames = tuple(labelnames)
        self.children: dict[Labels, Child] = {}
        self.is_limited = bool(self.labelnames)
        """Whether it has only so many series, if `Store.most_series` says so."""
        self._end_user = self.labelnames.index(END_USER) if END_USER in self.labelnames else None
        self._of_end_users = 0
        self._overflow: Child | None = None
        """Where what goes beyond is counted. It takes no place, and stays."""
        if not self.labelnames:
            self.child(())
        store.add(self)

    @classmethod
    def _refuse_what_the_client_refuses(
        cls, name: str, documentation: str, labelnames: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        """Raise ValueError, as the client does, for buckets and for names of metrics and labels that it refuses."""
        # Without any label, it would make a series, and write it where workers write theirs.
        cls.clients(name, documentation, labelnames or ("none",), registry=None, **options)

    def labels(self, *values: object, **named: object) -> Any:
        """Return the series of these labels, by place or by name."""
        labels = self._labels(values, named)
        tap = self.store.tap
        return self.child(labels) if tap is None else RecordingMetric(self, labels, tap)

    def remove(self, *values: object) -> None:
        """Let a series go."""
        labels = self._labels(values, {})
        tap = self.store.tap
        if tap is not None:
            tap.record(RecordedUpdate(self, labels, "remove", math.nan))
        # What waits may make it yet.
        elif (labels in self.children or self.store.is_waiting()) and not self.store.defer(self.child(labels), None):
            self.hide(labels)

    def clear(self) -> None:
        """Let all of them go."""
        with self.store.lock:
            for child in self.children.values():
                child.value = None

    def inc(self, amount: float = 1) -> None:
        """Add to the only series of a family without labels."""
        self.labels().inc(amount)

    def dec(self, amount: float = 1) -> None:
        """Take from it."""
        self.labels().dec(amount)

    def set(self, value: float) -> None:
        """Let it be so much."""
        self.labels().set(value)

    def observe(self, amount: float) -> None:
        """Let it know of one more."""
        self.labels().observe(amount)

    def child(self, labels: Labels) -> Child:
        """Return the series of these labels."""
        bounded = self.store.bounded
        told = tuple([bounded(name, value) for name, value in zip(self.labelnames, labels, strict=True)])
        found = self.children.get(told)
        if found is None:
            with self.store.lock:
                found = self.children.get(told) or self._admitted(told)
        return found

    def retire(self, place: int, value: str) -> None:
        """Let those series go that have this value there."""
        for labels in [labels for labels in self.children if labels[place] == value]:
            self._evict(labels)

    def expire(self, before: float, end_user_before: float) -> None:
        """Let those go that nobody has heard of since then."""
        silent = [one for one in self.children.values() if one.at < max(before, end_user_before)]
        for child in silent:
            if child is not self._overflow and (child.at < before or self._is_of_end_user(child.labels)):
                self._evict(child.labels)
                self.store.expired += 1

    def remove_child(self, labels: Labels) -> None:
        """Let a series go that nobody holds."""
        with self.store.lock:
            if labels in self.children:
                self._evict(labels)

    def hide(self, labels: Labels) -> None:
        """Let a series go; whoever holds it may go on using it, and it is there again."""
        with self.store.lock:
            child = self.children.get(labels)
            if child is not None:
                child.value = None

    def describe(self) -> Iterator[Metric]:
        """Name what may come, without looking."""
        yield self._metric()

    def collect(self) -> Iterator[Metric]:
        """Yield what there is."""
        found = self._metric()
        for child in list(self.children.values()):
            if child.value is not None:
                self._tell(found, dict(zip(self.labelnames, child.labels, strict=True)), child, child.value)
        yield found

    def _admitted(self, labels: Labels) -> Child:
        others = (OTHER,) * len(labels)
        is_of_end_user = self._is_of_end_user(labels)
        if is_of_end_user and self._of_end_users >= self.store.most_of_end_users:
            return self.child(self._without_end_user(labels))
        if not self._has_room(labels):
            return self._beyond(others)
        found = self.children[labels] = self._made(labels)
        self._of_end_users += is_of_end_user
        return found

    def _has_room(self, labels: Labels) -> bool:
        if not self.is_limited or not self.store.is_limited:
            return True
        if self.store.admits is not None:
            return self.store.admits(self, labels)
        return len(self.children) - (self._overflow is not None) < self.store.most_series

    def _evict(self, labels: Labels) -> None:
        self._of_end_users -= self._is_of_end_user(labels)
        child = self.children.pop(labels)
        if child.value is None or self.kind == "gauge":
            return
        if self.store.removal_sink is None:
            self._retired(child)
        else:
            self.store.removal_sink(self, child)

    def _retired(self, child: Child) -> None:
        """Keep what a series has come to, where that means something."""

    def _is_of_end_user(self, labels: Labels) -> bool:
        return self._end_user is not None and labels[self._end_user] not in NOBODYS

    def _without_end_user(self, labels: Labels) -> Labels:
        assert self._end_user is not None
        return (*labels[: self._end_user], OTHER, *labels[self._end_user + 1 :])

    def _beyond(self, others: Labels) -> Child:
        found = self.children.get(others)
        if found is None:
            found = self._overflow = self.children[others] = self._made(others)
        return found

    def _made(self, labels: Labels) -> Child:
        return self.made(self.store, labels, None)

    def _metric(self) -> Metric:
        return Metric(self.name, self.about, self.kind)

    def _tell(self, metric: Metric, labels: dict[str, str], child: Child, value: float) -> None:
        del child
        metric.add_sample(self.name, labels, value)

    def _labels(self, values: tuple[object, ...], named: dict[str, object]) -> Labels:
        if named:
            if values or named.keys() != set(self.labelnames):
                raise ValueError("Incorrect label names")
            return tuple([str(named[name]) for name in self.labelnames])
        if len(values) != len(self.labelnames):
            raise ValueError("Incorrect label count")
        return tuple([str(value) for value in values])


class RecordedUpdate(NamedTuple):
    """One thing that was done, or would have been."""

    family: Family
    labels: Labels
    verb: str
    value: float


class UpdateRecorder(Protocol):
    """What takes note of operations instead of having them done."""

    def record(self, updates: RecordedUpdate) -> None:
        """Know of one."""


class RecordingMetric:
    """What stands in for a series while somebody takes note."""

    __slots__ = ("_family", "_labels", "_tap")

    def __init__(self, family: Family, labels: Labels, tap: UpdateRecorder) -> None:
        self._family, self._labels, self._tap = family, labels, tap

    def inc(self, amount: float = 1) -> None:
        """Take note of an addition."""
        if self._family.kind == "counter":
            grown(amount)
        self._note("inc", amount)

    def dec(self, amount: float = 1) -> None:
        """Take note of a subtraction."""
        self._note("inc", -amount)

    def set(self, value: float) -> None:
        """Take note of a number."""
        self._note("set", value)

    def observe(self, amount: float) -> None:
        """Take note of an observation."""
        self._note("observe", amount)

    def _note(self, verb: str, value: float) -> None:
        self._tap.record(RecordedUpdate(self._family, self._labels, verb, float(value)))
