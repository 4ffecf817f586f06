"""What is done for events of one shape: found out by watching LiteLLM's own code, and done without it from then on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from litellm_evenkeel.metrics.registry.children import Child, HistogramChild, Labels
from litellm_evenkeel.metrics.registry.families import RecordedUpdate
from litellm_evenkeel.metrics.replay.event_facts import LABELS, EventFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from litellm_evenkeel.metrics.registry.families import Family
    from litellm_evenkeel.metrics.replay.event_facts import Raw

# What LiteLLM writes by itself: one more, a healthy deployment, and the limit of a key that has none.
CONSTANTS = frozenset({0.0, 1.0, float(sys.maxsize)})


class LabelSource(NamedTuple):
    """A label whose value an event tells."""

    place: int
    """In `Facts.who`."""
    is_cleaned: bool
    """Whether LiteLLM cleans it first, as it does but for some."""


@dataclass(frozen=True, slots=True)
class MetricUpdate:
    """One thing to do."""

    family: Family
    labels: tuple[str | LabelSource, ...]
    verb: str
    value: int | float
    """A place in `Facts.numbers` if it is an integer, else the number itself."""


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """All that is to be done for an event of a shape."""

    steps: tuple[MetricUpdate, ...]

    def predicted(self, facts: EventFacts, cleaned: Callable[[Any], Any]) -> list[RecordedUpdate]:
        """Return what LiteLLM's code would do, for an event."""
        return [
            RecordedUpdate(step.family, labelled(step, facts.label_values, cleaned), step.verb, _value(step, facts))
            for step in self.steps
        ]


class BoundPlan:
    """A plan whose series are known, for all events of the same people and places."""

    __slots__ = (
        "_added",
        "_cleaned",
        "_counted",
        "_epoch",
        "_fixed",
        "_observed",
        "_removed",
        "_seen",
        "_set",
        "_still",
        "_who",
        "plan",
    )

    def __init__(self, plan: UpdatePlan, who: Sequence[Any], cleaned: Callable[[Any], Any]) -> None:
        self.plan, self._who, self._cleaned = plan, who, cleaned
        # Looked up when there is something to count: whoever makes one is in a request's way. Where families have only
        # so many series, it is done at once, by `prepare`: the first to come has the place.
        self._epoch = -1

    def _look_up(self) -> None:
        self._counted: list[Child] = []
        self._added: list[tuple[Child, int]] = []
        self._set: list[tuple[Child, int]] = []
        self._fixed: list[tuple[Child, float]] = []
        self._observed: list[tuple[HistogramChild, int]] = []
        self._seen: list[tuple[HistogramChild, float]] = []
        self._still: list[Child] = []
        self._removed: list[tuple[Family, Labels]] = []
        for step in self.plan.steps:
            self._add(step, labelled(step, self._who, self._cleaned))
        self._epoch = self._now

    @property
    def _now(self) -> int:
        return self.plan.steps[0].family.store.epoch if self.plan.steps else 0

    def _add(self, step: MetricUpdate, labels: Labels) -> None:
        if step.verb == "remove":
            self._removed.append((step.family, labels))
            return
        child = step.family.child(labels)
        if isinstance(child, HistogramChild):
            if isinstance(step.value, int):
                self._observed.append((child, step.value))
            else:
                self._seen.append((child, step.value))
        elif step.verb == "set":
            if isinstance(step.value, int):
                self._set.append((child, step.value))
            else:
                self._fixed.append((child, step.value))
        elif isinstance(step.value, int):
            self._added.append((child, step.value))
        elif step.value == 1:
            self._counted.append(child)
        else:
            # What adds nothing has only to be there.
            self._still.append(child)

    def prepare(self) -> None:
        """Look the series up, if that has to be done, for a caller that has the lock."""
        if self._epoch != self._now:
            self._look_up()

    def apply(self, several: Sequence[Sequence[Any]], now: float) -> None:
        """Do it for several events at once, given their numbers in the order in which they came."""
        if self._epoch != self._now:
            self._look_up()
        number = len(several)
        for child in self._counted:
            child.add(number)
            child.at = now
        for child in self._still:
            child.at = now
        for child, place in self._added:
            child.add(sum([numbers[place] for numbers in several]))
            child.at = now
        for histogram, place in self._observed:
            histogram.at = now
            for numbers in several:
                histogram.observed(numbers[place])
        for histogram, amount in self._seen:
            histogram.at = now
            for _ in range(number):
                histogram.observed(amount)
        self._put(several[-1], now)

    def _put(self, last: Sequence[Any], now: float) -> None:
        for family, labels in self._removed:
            if family.children:
                family.hide(labels)
        for child, place in self._set:
            child.put(float(last[place]), now)
        for child, fixed in self._fixed:
            child.put(fixed, now)


def derive_plan(
    updates: Sequence[RecordedUpdate], facts: EventFacts, cleaned: Callable[[Any], Any]
) -> UpdatePlan | None:
    """Return what was done for an event that was made of marks, as a plan for all of its shape; None if it is unclear.

    Each text and each number of such an event is there once, so whatever comes out of LiteLLM's code tells where it
    came from.
    """
    fields: dict[str, LabelSource] = {}
    for place, mark in enumerate(facts.label_values[:LABELS]):
        if mark is not None and not isinstance(mark, str):
            # A name that is a number, say: it cannot be marked.
            return None
        if mark:
            # Cleaning changes each mark, so it is seen whether it was done.
            fields[mark], fields[cleaned(mark)] = (
                LabelSource(place, is_cleaned=False),
                LabelSource(place, is_cleaned=True),
            )
    numbers = {float(number): place for place, number in enumerate(facts.numbers) if number}
    steps = []
    for family, labels, verb, value in updates:
        sources = tuple([fields.get(label, label) for label in labels])
        if any(MARK in source for source in sources if isinstance(source, str)):
            return None
        is_known = verb == "remove" or value in numbers or value in CONSTANTS
        if not is_known or (verb == "observe" and value not in numbers and value != 0):
            return None
        steps.append(MetricUpdate(family, sources, verb, numbers.get(value, value)))
    return UpdatePlan(tuple(steps))


def has_unmarked_labels(plan: UpdatePlan, event: Raw, facts: EventFacts) -> bool:
    """Return whether a label comes from something in an event that nobody marked: a plan would repeat it for all."""
    known = {"", "None", *_texts(facts.label_values[LABELS:])}
    told = {source for step in plan.steps for source in step.labels if isinstance(source, str)} - known
    payload, params = event["standard_logging_object"], event.get("litellm_params") or {}
    there = [event, payload, payload["metadata"], params, params.get("metadata"), params.get("litellm_metadata")]
    return any(isinstance(value, str) and value in told for one in there if one for value in one.values())


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, tuple):
            yield from _texts(value)
        else:
            yield str(value)


def constant_plan(updates: Sequence[RecordedUpdate]) -> UpdatePlan | None:
    """Return what was done as a plan to do the very same again; None where that would not be what LiteLLM does."""
    if any(one.verb == "observe" or (one.verb == "inc" and one.value != 1) for one in updates):
        return None
    return UpdatePlan(tuple([MetricUpdate(one.family, one.labels, one.verb, one.value) for one in updates]))


MARK = 'evenkeel"'
"""What each text of such an event begins with: it is in no real one, and LiteLLM cleans it."""


def labelled(step: MetricUpdate, who: Sequence[Any], cleaned: Callable[[Any], Any]) -> Labels:
    """Return the labels of a step for certain people and places."""
    return tuple(
        [
            source
            if isinstance(source, str)
            else str(cleaned(who[source.place]) if source.is_cleaned else who[source.place])
            for source in step.labels
        ]
    )


def _value(step: MetricUpdate, facts: EventFacts) -> float:
    return float(facts.numbers[step.value] or 0.0) if isinstance(step.value, int) else step.value
