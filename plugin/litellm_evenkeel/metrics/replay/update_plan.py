"""Update plans: the metric updates for events of one shape, recorded from LiteLLM's code and repeated without it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from litellm_evenkeel.metrics.registry.families import RecordedUpdate
from litellm_evenkeel.metrics.registry.series import HistogramSeries, Labels, Series
from litellm_evenkeel.metrics.replay.event_facts import LABEL_COUNT, EventFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from litellm_evenkeel.metrics.registry.families import Family
    from litellm_evenkeel.metrics.replay.event_facts import Raw

# Values that LiteLLM writes itself: an increment, a healthy deployment, and the limit of a key without limits.
CONSTANTS = frozenset({0.0, 1.0, float(sys.maxsize)})


class LabelSource(NamedTuple):
    """Origin of a label value that comes from the event."""

    position: int
    """Index in `EventFacts.label_values`."""
    is_cleaned: bool
    """Whether LiteLLM cleans the value first, as it does for most labels."""


@dataclass(frozen=True, slots=True)
class MetricUpdate:
    """One update of a plan."""

    family: Family
    labels: tuple[str | LabelSource, ...]
    operation: str
    value: int | float
    """Index in `EventFacts.numbers` if it is an `int`, else the number itself."""


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """All updates for an event of one shape."""

    steps: tuple[MetricUpdate, ...]

    def predicted(self, facts: EventFacts, clean: Callable[[Any], Any]) -> list[RecordedUpdate]:
        """Return the updates that LiteLLM's own code is expected to make for an event."""
        return [
            RecordedUpdate(
                step.family, resolve_labels(step, facts.label_values, clean), step.operation, _value(step, facts)
            )
            for step in self.steps
        ]


class BoundPlan:
    """A plan together with its series, for all events with the same label values."""

    __slots__ = (
        "_additions",
        "_assignments",
        "_clean",
        "_constant_additions",
        "_constant_assignments",
        "_constant_observations",
        "_epoch",
        "_label_values",
        "_observations",
        "_removals",
        "plan",
    )

    def __init__(self, plan: UpdatePlan, label_values: Sequence[Any], clean: Callable[[Any], Any]) -> None:
        self.plan, self._label_values, self._clean = plan, label_values, clean
        # Series are looked up with the first batch, because a bound plan is made while a request waits for it. If
        # families are limited, `prepare` does it at once: series are admitted in order of arrival.
        self._epoch = -1

    def _look_up(self) -> None:
        # An `int` is an index in the event's numbers, a `float` a constant.
        self._additions: list[tuple[Series, int]] = []
        self._constant_additions: list[tuple[Series, float]] = []
        self._assignments: list[tuple[Series, int]] = []
        self._constant_assignments: list[tuple[Series, float]] = []
        self._observations: list[tuple[HistogramSeries, int]] = []
        self._constant_observations: list[tuple[HistogramSeries, float]] = []
        self._removals: list[tuple[Family, Labels]] = []
        for step in self.plan.steps:
            self._add(step, resolve_labels(step, self._label_values, self._clean))
        self._epoch = self._store_epoch

    @property
    def _store_epoch(self) -> int:
        return self.plan.steps[0].family.store.epoch if self.plan.steps else 0

    def _add(self, step: MetricUpdate, labels: Labels) -> None:
        if step.operation == "remove":
            self._removals.append((step.family, labels))
            return
        series = step.family.get_or_create(labels)
        if isinstance(series, HistogramSeries):
            if isinstance(step.value, int):
                self._observations.append((series, step.value))
            else:
                self._constant_observations.append((series, step.value))
        elif step.operation == "set":
            if isinstance(step.value, int):
                self._assignments.append((series, step.value))
            else:
                self._constant_assignments.append((series, step.value))
        elif isinstance(step.value, int):
            self._additions.append((series, step.value))
        else:
            self._constant_additions.append((series, step.value))

    def prepare(self) -> None:
        """Look up the series if they are not known or out of date. The caller holds the store's lock."""
        if self._epoch != self._store_epoch:
            self._look_up()

    def apply(self, batch: Sequence[Sequence[Any]], now: float) -> None:
        """Apply the plan to a batch of events, given their numbers in order of arrival. The caller holds the lock."""
        self.prepare()
        count = len(batch)
        for series, amount in self._constant_additions:
            series.add(amount * count)
            series.updated_at = now
        for series, index in self._additions:
            series.add(sum([numbers[index] for numbers in batch]))
            series.updated_at = now
        for histogram, index in self._observations:
            histogram.updated_at = now
            for numbers in batch:
                histogram.add_observation(numbers[index])
        for histogram, amount in self._constant_observations:
            histogram.updated_at = now
            for _ in range(count):
                histogram.add_observation(amount)
        self._apply_last(batch[-1], now)

    def _apply_last(self, numbers: Sequence[Any], now: float) -> None:
        for family, labels in self._removals:
            if family.series:
                family.hide(labels)
        for series, index in self._assignments:
            series.put(float(numbers[index]), now)
        for series, value in self._constant_assignments:
            series.put(value, now)


def derive_plan(updates: Sequence[RecordedUpdate], facts: EventFacts, clean: Callable[[Any], Any]) -> UpdatePlan | None:
    """Return the plan for all events of one shape, given the updates for a sentinel event; `None` if it is unclear.

    Each text and each number occurs only once in a sentinel event, so each value in an update identifies its source.
    """
    sources: dict[str, LabelSource] = {}
    for index, sentinel in enumerate(facts.label_values[:LABEL_COUNT]):
        if sentinel is not None and not isinstance(sentinel, str):
            # The label is not text, for example a number, and has no sentinel.
            return None
        if sentinel:
            # Cleaning changes each sentinel, so its form in an update shows whether LiteLLM cleaned it.
            sources[sentinel], sources[clean(sentinel)] = (
                LabelSource(index, is_cleaned=False),
                LabelSource(index, is_cleaned=True),
            )
    numbers = {float(number): index for index, number in enumerate(facts.numbers) if number}
    steps = []
    for family, labels, operation, value in updates:
        label_sources = tuple([sources.get(label, label) for label in labels])
        if any(SENTINEL_PREFIX in source for source in label_sources if isinstance(source, str)):
            return None
        is_known = operation == "remove" or value in numbers or value in CONSTANTS
        if not is_known or (operation == "observe" and value not in numbers and value != 0):
            return None
        steps.append(MetricUpdate(family, label_sources, operation, numbers.get(value, value)))
    return UpdatePlan(tuple(steps))


def has_unmarked_labels(plan: UpdatePlan, event: Raw, facts: EventFacts) -> bool:
    """Return whether a constant label of `plan` equals a text in `event` that is no sentinel.

    The label may come from that text, and the plan would repeat it for events with another one.
    """
    known = {"", "None", *_texts(facts.label_values[LABEL_COUNT:])}
    constants = {source for step in plan.steps for source in step.labels if isinstance(source, str)} - known
    payload, params = event["standard_logging_object"], event.get("litellm_params") or {}
    mappings = [event, payload, payload["metadata"], params, params.get("metadata"), params.get("litellm_metadata")]
    return any(
        isinstance(value, str) and value in constants for mapping in mappings if mapping for value in mapping.values()
    )


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, tuple):
            yield from _texts(value)
        else:
            yield str(value)


def constant_plan(updates: Sequence[RecordedUpdate]) -> UpdatePlan | None:
    """Return a plan that repeats `updates` exactly; `None` if LiteLLM's updates would differ from event to event."""
    if any(update.operation == "observe" or (update.operation == "inc" and update.value != 1) for update in updates):
        return None
    return UpdatePlan(tuple([MetricUpdate(*update) for update in updates]))


SENTINEL_PREFIX = 'evenkeel"'
"""Beginning of each text of a sentinel event. No real text contains it, and LiteLLM's cleaning changes it."""


def resolve_labels(step: MetricUpdate, label_values: Sequence[Any], clean: Callable[[Any], Any]) -> Labels:
    """Return the labels of a step for an event with these label values."""
    return tuple(
        [
            source
            if isinstance(source, str)
            else str(clean(label_values[source.position]) if source.is_cleaned else label_values[source.position])
            for source in step.labels
        ]
    )


def _value(step: MetricUpdate, facts: EventFacts) -> float:
    return float(facts.numbers[step.value] or 0.0) if isinstance(step.value, int) else step.value
