"""Notes of what would have been written to series, taken in place of writing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from litellm_evenkeel.metrics.children import Labels, grown

if TYPE_CHECKING:
    from litellm_evenkeel.metrics.families import Family


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
