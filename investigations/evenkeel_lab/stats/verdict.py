"""Verdicts on the difference between two arms, from the differences within pairs of runs.

The unit is a pair, not a request: the requests of one run share whatever happened to that run. Each pair has one
number: the difference of the logarithms of a metric (so that a factor and its inverse have the same size), or a
difference of shares. A margin, fixed beforehand, is the smallest difference that matters. The first that applies is
the verdict. A margin of more than a factor of two shows no equivalence:

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

from evenkeel_lab.stats.always_valid import critical_t, p_value as always_valid_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALPHA = 0.05
POWER = 0.80
LEAST_PAIRS = 6
# Larger sessions are not proposed.
MOST_PAIRS = 1_000
RESAMPLES = 4095
# Two values of which one may be more than twice the other are not called equal, whatever the margin.
LARGEST_MARGIN = math.log(2)


class Kind(StrEnum):
    """The five verdicts, in the order in which they are tried."""

    MATERIAL = "material"
    NEGLIGIBLE = "real but negligible"
    NONE = "no measurable difference"
    UNCERTAIN = "real, size uncertain"
    INCONCLUSIVE = "inconclusive"

    @property
    def is_real(self) -> bool:
        """Whether the verdict claims a difference."""
        return self in {Kind.MATERIAL, Kind.NEGLIGIBLE, Kind.UNCERTAIN}

    @property
    def is_settled(self) -> bool:
        """Whether further pairs would only narrow the interval."""
        return self in {Kind.MATERIAL, Kind.NEGLIGIBLE, Kind.NONE}


@dataclass(frozen=True)
class Verdict:
    """Result of the test, in the unit of the differences: logarithms of factors, or shares."""

    kind: Kind
    pairs: int
    mean: float
    low: float
    high: float
    """`low` and `high` are the confidence interval."""
    inner_low: float
    inner_high: float
    """`inner_low` and `inner_high` are the narrower interval that decides whether the arms are equivalent."""
    margin: float
    spread: float
    """Standard deviation of the differences."""
    detectable: float
    """Smallest difference that this number of pairs detects with a power of 80 %."""
    more_pairs: int | None
    """Further pairs that would probably settle the verdict; `None` if it is settled or no number would."""
    p: float
    alpha: float


def equivalence_test(
    differences: Sequence[float], margin: float, *, alpha: float = ALPHA, always_valid: bool = False
) -> Verdict:
    """Return the verdict on the differences within pairs. `alpha` is the error probability of one look.

    With `always_valid`, it is that of all looks together, however many there are.
    """
    values = np.asarray(differences, dtype=np.float64)
    count = len(values)
    if count < LEAST_PAIRS:
        raise ValueError(f"a verdict needs at least {LEAST_PAIRS} pairs, got {count}")
    if not np.isfinite(values).all() or not 0 < margin < math.inf:
        raise ValueError("expected finite differences and a margin above zero")
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    low, high = _interval(values, alpha, always_valid=always_valid)
    inner_low, inner_high = _interval(values, 2 * alpha, always_valid=always_valid)
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
        p=_p_value(values, always_valid=always_valid) if spread else float(mean == 0),
        alpha=alpha,
    )


def _interval(values: NDArray[np.float64], alpha: float, *, always_valid: bool) -> tuple[float, float]:
    described = DescrStatsW(values)
    if not always_valid:
        low, high = described.tconfint_mean(alpha)
        return float(low), float(high)
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    half = critical_t(len(values), alpha) * spread / math.sqrt(len(values)) if spread else 0.0
    return mean - half, mean + half


def _p_value(values: NDArray[np.float64], *, always_valid: bool) -> float:
    t, p, _ = DescrStatsW(values).ttest_mean()
    return always_valid_p(float(t), len(values)) if always_valid else float(p)


def detectable(spread: float, pairs: int, alpha: float = ALPHA) -> float:
    """Return the smallest difference that `pairs` pairs detect with a power of `POWER`."""
    freedom = pairs - 1
    return float((stats.t.ppf(1 - alpha / 2, freedom) + stats.t.ppf(POWER, freedom)) * spread / math.sqrt(pairs))


def permutation_p_value(differences: Sequence[float]) -> float:
    """Return the p-value of the mean by a permutation test, which assumes no distribution."""
    result = stats.permutation_test(
        (np.asarray(differences, dtype=np.float64),),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


def _kind(low: float, high: float, inner_low: float, inner_high: float, margin: float) -> Kind:
    if low >= margin or high <= -margin:
        return Kind.MATERIAL
    real = low > 0 or high < 0
    if margin <= LARGEST_MARGIN and -margin < inner_low and inner_high < margin:
        return Kind.NEGLIGIBLE if real else Kind.NONE
    return Kind.UNCERTAIN if real else Kind.INCONCLUSIVE


def _more_pairs(mean: float, spread: float, pairs: int, margin: float, alpha: float) -> int | None:
    """Return how many further pairs would settle the verdict if mean and spread stay the same.

    A mean within the margin is to be shown equivalent, any other is to be shown material.
    """
    within = abs(mean) < margin
    if within and margin > LARGEST_MARGIN:
        return None
    effect = abs(margin - abs(mean)) / spread
    # The interval may leave the margin on either side: each side may use half of the error that the power leaves.
    share, power = (alpha, (1 + POWER) / 2) if within else (alpha / 2, POWER)
    test = TTestPower()
    if test.power(effect, MOST_PAIRS, share, alternative="larger") < power:
        return None
    needed = test.solve_power(effect_size=effect, alpha=share, power=power, alternative="larger")
    return max(1, math.ceil(float(needed)) - pairs)
