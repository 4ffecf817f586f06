"""Whether arms keep to what an investigation asks of each of them: by the mean of its pairs, with an interval."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from evenkeel_lab.comparison import words
from evenkeel_lab.comparison.figures import ordered
from evenkeel_lab.session.meetings import pair_of
from evenkeel_lab.verdicts import alpha_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.comparison.figures import Figure
    from evenkeel_lab.experiment import Investigation
    from evenkeel_lab.session.run import Run

LEAST_PAIRS = 3


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
    figure: Figure
    bound: float
    """At most so much; of a figure of which more is better, at least."""
    pairs: int
    """How many of them tell the figure. Of an arm that meets several others in each, the mean counts."""
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """What may be said of it."""
        if self.pairs < LEAST_PAIRS:
            return Outcome.UNTOLD
        ends = (self.low, self.high) if self.figure.more_is_worse else (-self.high, -self.low)
        bound = self.bound if self.figure.more_is_worse else -self.bound
        if ends[1] <= bound:
            return Outcome.KEPT
        return Outcome.MISSED if ends[0] > bound else Outcome.OPEN


def criteria(investigation: Investigation, done: Mapping[str, Sequence[Run]]) -> list[Criterion]:
    """Return what became of all that an investigation asks of its arms."""
    return list(_criteria(investigation, done))


def asked(one: Criterion) -> str:
    """Say how far a figure may go."""
    return f"{'at most' if one.figure.more_is_worse else 'at least'} {words.size(one.figure, one.bound)}"


def measured(one: Criterion) -> str:
    """Say what was measured of it."""
    if one.outcome is Outcome.UNTOLD:
        return ""
    return f"{words.size(one.figure, one.mean)} [{words.size(one.figure, one.low)}, {words.size(one.figure, one.high)}]"


def _criteria(investigation: Investigation, done: Mapping[str, Sequence[Run]]) -> Iterator[Criterion]:
    alpha = alpha_of(investigation.session.looks)
    counted = [
        (pair_of(meeting), run)
        for meeting, runs in done.items()
        if not any(one.limited for one in runs)
        for run in runs
    ]
    for arm, bounds in investigation.criteria.items():
        for name in ordered(list(bounds)):
            told: defaultdict[int, list[float]] = defaultdict(list)
            for pair, run in counted:
                if run.arm == arm:
                    told[pair].append(run.figures.get(name, math.nan))
            means = [fmean(values) for values in told.values()]
            # Runs that tell it may be those that fared better.
            counts = [] if np.isnan(means).any() else means
            yield _criterion(arm, investigation.described[name], bounds[name], counts, alpha)


def _criterion(arm: str, figure: Figure, bound: float, told: Sequence[float], alpha: float) -> Criterion:
    if len(told) < LEAST_PAIRS:
        return Criterion(arm, figure, bound, len(told))
    values = DescrStatsW(np.array(told))
    mean = float(values.mean)
    # Of pairs that are all the same, such as those without an error, there is no spread to go by.
    low, high = (mean, mean) if len(set(told)) == 1 else values.tconfint_mean(alpha)
    return Criterion(arm, figure, bound, len(told), mean, float(low), float(high))
