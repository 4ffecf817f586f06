"""Seeing what LiteLLM's own code would write for an event, without having it written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from litellm_evenkeel.metrics.registry.children import Labels, grown

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from litellm_evenkeel.metrics.registry.families import Family, MetricStore


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


def record_updates(store: MetricStore, running: Coroutine[Any, Any, None]) -> list[RecordedUpdate] | None:
    """Run what writes to the families of a store, and return what it would have written.

    None if it waits for something on its way: nobody can say what others would write meanwhile.
    """
    notes = _Notes()
    with store.lock:
        store.tap = notes
        try:
            running.send(None)
        except StopIteration:
            return notes.taken
        finally:
            store.tap = None
            running.close()
    return None


class _Notes:
    def __init__(self) -> None:
        self.taken: list[RecordedUpdate] = []

    def record(self, updates: RecordedUpdate) -> None:
        self.taken.append(updates)
