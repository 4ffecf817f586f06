"""What may be said of a difference between two arms, from the differences within pairs of runs.

The unit is a pair, never a request: requests of one run share whatever happened to that run. Of each pair there is one
number, the difference of the logarithms of a figure (so that a factor and its inverse are equally far from none), or
of shares in points. A margin, fixed beforehand, says from where on a difference matters. The first that holds is said:

    material                   the confidence interval lies wholly beyond the margin, on one side
    real but negligible        it excludes zero, and the equivalence interval lies within the margin
    no measurable difference   it includes zero, and the equivalence interval lies within the margin
    real, size uncertain       it excludes zero
    inconclusive               none of these: more pairs are needed, or a larger margin
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA = 0.05
POWER = 0.80
LEAST_PAIRS = 6
# More than anybody would run.
MOST_PAIRS = 1_000
RESAMPLES = 4095


class Kind(StrEnum):
    """The five verdicts, in the order in which they are tried."""

    MATERIAL = "material"
    NEGLIGIBLE = "real but negligible"
    NONE = "no measurable difference"
    UNCERTAIN = "real, size uncertain"
    INCONCLUSIVE = "inconclusive"

    @property
    def is_real(self) -> bool:
        """Whether it claims that there is a difference."""
        return self in {Kind.MATERIAL, Kind.NEGLIGIBLE, Kind.UNCERTAIN}

    @property
    def is_settled(self) -> bool:
        """Whether more pairs would only narrow what is known already."""
        return self in {Kind.MATERIAL, Kind.NEGLIGIBLE, Kind.NONE}


@dataclass(frozen=True)
class Verdict:
    """What was found, in the unit of the differences: logarithms of factors, or shares."""

    kind: Kind
    pairs: int
    mean: float
    low: float
    high: float
    """The confidence interval."""
    inner_low: float
    inner_high: float
    """The narrower interval, which decides whether arms are equivalent."""
    margin: float
    spread: float
    """The standard deviation of a pair's difference."""
    detectable: float
    """The smallest difference that so many pairs would find four times in five."""
    more_pairs: int | None
    """How many further pairs would probably settle it; None if it is settled, or no number would."""
    p: float
    alpha: float


def judge(differences: Sequence[float], margin: float, *, alpha: float = ALPHA) -> Verdict:
    """Judge the differences within pairs; `alpha` is what one look may err by."""
    values = np.asarray(differences, dtype=np.float64)
    count = len(values)
    if count < LEAST_PAIRS:
        raise ValueError(f"{count} pairs are no basis for a verdict: {LEAST_PAIRS} are the least")
    if not np.isfinite(values).all() or not 0 < margin < math.inf:
        raise ValueError("differences are finite numbers, and a margin is above zero")
    described = DescrStatsW(values)
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    low, high = (float(end) for end in described.tconfint_mean(alpha))
    inner_low, inner_high = (float(end) for end in described.tconfint_mean(2 * alpha))
    kind = _kind(low, high, inner_low, inner_high, margin)
    return Verdict(
        kind=kind,
        pairs=count,
        mean=mean,
        low=low,
        high=high,
        inner_low=inner_low,
        inner_high=inner_high,
        margin=margin,
        spread=spread,
        detectable=detectable(spread, count, alpha),
        more_pairs=None if kind.is_settled else _more_pairs(mean, spread, count, margin, alpha),
        p=float(described.ttest_mean()[1]) if spread else float(mean == 0),
        alpha=alpha,
    )


def detectable(spread: float, pairs: int, alpha: float = ALPHA) -> float:
    """Return the smallest difference that so many pairs find with the usual power."""
    freedom = pairs - 1
    return float((stats.t.ppf(1 - alpha / 2, freedom) + stats.t.ppf(POWER, freedom)) * spread / math.sqrt(pairs))


def second_opinion(differences: Sequence[float]) -> float:
    """Return how probable so large a mean is by chance, whatever the differences are distributed like."""
    found = stats.permutation_test(
        (np.asarray(differences, dtype=np.float64),),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def _kind(low: float, high: float, inner_low: float, inner_high: float, margin: float) -> Kind:
    if low >= margin or high <= -margin:
        return Kind.MATERIAL
    real = low > 0 or high < 0
    if -margin < inner_low and inner_high < margin:
        return Kind.NEGLIGIBLE if real else Kind.NONE
    return Kind.UNCERTAIN if real else Kind.INCONCLUSIVE


def _more_pairs(mean: float, spread: float, pairs: int, margin: float, alpha: float) -> int | None:
    """Return how many more pairs would settle it, if the mean and the spread stay what they are.

    Settled is what lies within the margin, or beyond it; whichever the mean is nearer to is what will be shown.
    """
    within = abs(mean) < margin
    effect = abs(margin - abs(mean)) / spread
    # An interval may leave the margin on either side, and each may take half of what power leaves to chance.
    share, power = (alpha, (1 + POWER) / 2) if within else (alpha / 2, POWER)
    settled = TTestPower()
    if settled.power(effect, MOST_PAIRS, share, alternative="larger") < power:
        return None
    needed = settled.solve_power(effect_size=effect, alpha=share, power=power, alternative="larger")
    return max(1, math.ceil(float(needed)) - pairs)
