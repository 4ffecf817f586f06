"""How large a figure of one arm is by itself: the mean of its pairs, with an interval."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from evenkeel_lab.runner.schedule import pair_number
from evenkeel_lab.stats import alpha_per_look, wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.stats.metrics import Metric

LEAST_PAIRS = 3


@dataclass(frozen=True)
class Level:
    """One figure of one arm."""

    metric: Metric
    pairs: int
    """How many of them tell it. Of an arm that meets several others in each, the mean counts."""
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def is_told(self) -> bool:
        """Whether enough pairs tell it, and each of their runs."""
        return self.pairs >= LEAST_PAIRS

    def __str__(self) -> str:
        if not self.is_told:
            return ""
        mean, low, high = (wording.size(self.metric, value) for value in (self.mean, self.low, self.high))
        return f"{mean} [{low}, {high}]"


def level(investigation: Investigation, done: Mapping[str, Sequence[Run]], arm: str, name: str) -> Level:
    """Return how large it is, of all runs that count."""
    figure = investigation.described[name]
    told: defaultdict[int, list[float]] = defaultdict(list)
    for meeting, runs in done.items():
        if not any(one.limited for one in runs):
            told[pair_number(meeting)] += [run.figures.get(name, math.nan) for run in runs if run.arm == arm]
    means = [fmean(values) for values in told.values() if values]
    # Runs that tell it may be those that fared better.
    if np.isnan(means).any() or len(means) < LEAST_PAIRS:
        return Level(figure, 0 if np.isnan(means).any() else len(means))
    values = DescrStatsW(np.array(means))
    mean = float(values.mean)
    # Of pairs that are all the same, such as those without an error, there is no spread to go by.
    alpha = alpha_per_look(investigation.session.looks)
    low, high = (mean, mean) if len(set(means)) == 1 else values.tconfint_mean(alpha)
    return Level(figure, len(means), mean, float(low), float(high))
