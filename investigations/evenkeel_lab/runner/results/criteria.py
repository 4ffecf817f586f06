"""Criteria of an investigation: bounds on the mean of an arm's pairs, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from evenkeel_lab.runner.results.arm_mean import ArmMean, arm_mean
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run


class Outcome(StrEnum):
    """Outcomes of a criterion."""

    KEPT = "kept"
    """All of the interval is within the bound."""
    MISSED = "missed"
    """All of the interval is beyond the bound."""
    OPEN = "open"
    """The bound is inside the interval."""
    UNKNOWN = "unknown"
    """Too few pairs have a value, or not all of their runs."""


@dataclass(frozen=True)
class Criterion:
    """A bound of a metric of one arm."""

    arm: str
    bound: float
    """The maximum; the minimum if more is better."""
    measured: ArmMean

    @property
    def outcome(self) -> Outcome:
        """The outcome by the interval."""
        measured = self.measured
        if not measured.is_known:
            return Outcome.UNKNOWN
        more_is_worse = measured.metric.more_is_worse
        ends = (measured.low, measured.high) if more_is_worse else (-measured.high, -measured.low)
        bound = self.bound if more_is_worse else -self.bound
        if ends[1] <= bound:
            return Outcome.KEPT
        return Outcome.MISSED if ends[0] > bound else Outcome.OPEN


def criteria(investigation: Investigation, done: Mapping[str, Sequence[Run]]) -> list[Criterion]:
    """Return all criteria of an investigation with their measured means."""
    return [
        Criterion(arm, bounds[name], arm_mean(investigation, done, arm, name))
        for arm, bounds in investigation.criteria.items()
        for name in ordered(list(bounds))
    ]


def describe_bound(criterion: Criterion) -> str:
    """Return the bound as text."""
    metric = criterion.measured.metric
    return f"{'at most' if metric.more_is_worse else 'at least'} {wording.size(metric, criterion.bound)}"
