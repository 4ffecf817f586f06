"""A metric of one arm: the mean of its pairs, with an interval."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from evenkeel_lab.runner.schedule import pair_number
from evenkeel_lab.stats import Scale, alpha_per_look, wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.stats.metrics import Metric

LEAST_PAIRS = 3


@dataclass(frozen=True)
class ArmMean:
    """Mean of a metric over the pairs of an arm."""

    metric: Metric
    pairs: int
    """The number of pairs with a value. If an arm has several runs in a pair, their mean counts."""
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether enough pairs have a value, and all of their runs."""
        return self.pairs >= LEAST_PAIRS

    def __str__(self) -> str:
        if not self.is_known:
            return ""
        mean, low, high = (wording.size(self.metric, value) for value in (self.mean, self.low, self.high))
        return f"{mean} (in each of {self.pairs} pairs)" if self.low == self.high else f"{mean} [{low}, {high}]"


def arm_mean(investigation: Investigation, done: Mapping[str, Sequence[Run]], arm: str, name: str) -> ArmMean:
    """Return the mean of all valid runs, as tables state it: of a factor's metric the geometric one."""
    metric = investigation.described[name]
    by_pair: defaultdict[int, list[float]] = defaultdict(list)
    for scheduled, runs in done.items():
        if not any(run.limited for run in runs):
            by_pair[pair_number(scheduled)] += [run.figures.get(name, math.nan) for run in runs if run.arm == arm]
    scale = metric.usual.scale
    means = [wording.middle(values, scale) for values in by_pair.values() if values]
    # If some runs have no value, those that have one may be the better ones.
    if np.isnan(means).any() or len(means) < LEAST_PAIRS:
        return ArmMean(metric, 0 if np.isnan(means).any() else len(means))
    mean = wording.middle(means, scale)
    if len(set(means)) == 1:
        # Equal values, such as those of pairs without errors, have no spread to estimate an interval from.
        return ArmMean(metric, len(means), mean, mean, mean)
    alpha = alpha_per_look(investigation.session.looks)
    if wording.is_geometric(means, scale):
        low, high = np.exp(DescrStatsW(np.log(means)).tconfint_mean(alpha))
    else:
        low, high = DescrStatsW(np.array(means)).tconfint_mean(alpha)
    if scale is Scale.POINTS and max(means) <= 1:
        # A share is never below 0 or above 1, although the interval around a mean may be.
        low, high = max(low, 0.0), min(high, 1.0)
    return ArmMean(metric, len(means), mean, float(low), float(high))
