"""Whether arms keep to what an investigation asks of each of them: by the mean of its pairs, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from evenkeel_lab.runner.results.arm_mean import Level, level
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run


class Outcome(StrEnum):
    """What may be said of a criterion."""

    KEPT = "kept"
    """All of the interval lies within it."""
    MISSED = "missed"
    """All of the interval lies beyond it."""
    OPEN = "open"
    """It may be either."""
    UNTOLD = "untold"
    """Too few pairs tell the figure, or not each of its runs."""


@dataclass(frozen=True)
class Criterion:
    """One figure of an arm, and how far it may go."""

    arm: str
    bound: float
    """At most so much; of a figure of which more is better, at least."""
    level: Level

    @property
    def outcome(self) -> Outcome:
        """What may be said of it."""
        found = self.level
        if not found.is_told:
            return Outcome.UNTOLD
        more_is_worse = found.metric.more_is_worse
        ends = (found.low, found.high) if more_is_worse else (-found.high, -found.low)
        bound = self.bound if more_is_worse else -self.bound
        if ends[1] <= bound:
            return Outcome.KEPT
        return Outcome.MISSED if ends[0] > bound else Outcome.OPEN


def criteria(investigation: Investigation, done: Mapping[str, Sequence[Run]]) -> list[Criterion]:
    """Return what became of all that an investigation asks of its arms."""
    return [
        Criterion(arm, bounds[name], level(investigation, done, arm, name))
        for arm, bounds in investigation.criteria.items()
        for name in ordered(list(bounds))
    ]


def asked(one: Criterion) -> str:
    """Say how far a figure may go."""
    figure = one.level.metric
    return f"{'at most' if figure.more_is_worse else 'at least'} {wording.size(figure, one.bound)}"
