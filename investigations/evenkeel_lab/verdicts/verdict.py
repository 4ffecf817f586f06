"""What may be said of a difference between two arms, from the differences within pairs of runs.

The unit is a pair, never a request: requests of one run share whatever happened to that run. Of each pair there is one
number, the difference of the logarithms of a quantile (so that a factor and its inverse are equally far from none), or
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

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA = 0.05
POWER = 0.80
LEAST_PAIRS = 6
MOST_PAIRS = 100_000


class Kind(StrEnum):
    """The five verdicts, in the order in which they are tried."""

    MATERIAL = "material"
    NEGLIGIBLE = "real but negligible"
    NONE = "no measurable difference"
    UNCERTAIN = "real, size uncertain"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Verdict:
    """What was found, in the unit of the differences: logarithms of factors, or points."""

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
    p_permutation: float
    """A second opinion that assumes no normal distribution."""
    alpha: float


def judge(differences: Sequence[float], margin: float, *, alpha: float = ALPHA) -> Verdict:
    """Judge the differences within pairs; `alpha` is what one look may err by."""
    values = np.asarray(differences, dtype=np.float64)
    count = len(values)
    if count < LEAST_PAIRS:
        raise ValueError(f"{count} pairs are no basis for a verdict: {LEAST_PAIRS} are the least")
    if not np.isfinite(values).all() or not margin > 0:
        raise ValueError("differences are finite numbers, and a margin is above zero")
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    error = spread / math.sqrt(count)
    half, inner = (float(stats.t.ppf(1 - share, count - 1)) * error for share in (alpha / 2, alpha))
    low, high, inner_low, inner_high = mean - half, mean + half, mean - inner, mean + inner
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
        more_pairs=further_pairs(mean, spread, count, margin, alpha) if kind is Kind.INCONCLUSIVE else None,
        p_permutation=_permutation(values),
        alpha=alpha,
    )


def detectable(spread: float, pairs: int, alpha: float = ALPHA) -> float:
    """Return the smallest difference that so many pairs find with the usual power."""
    freedom = pairs - 1
    return float((stats.t.ppf(1 - alpha / 2, freedom) + stats.t.ppf(POWER, freedom)) * spread / math.sqrt(pairs))


def further_pairs(mean: float, spread: float, pairs: int, margin: float, alpha: float = ALPHA) -> int | None:
    """Return how many more pairs would settle it, if the mean and the spread stay what they are.

    Settled is what lies within the margin, or beyond it; whichever the mean is nearer to is what will be shown.
    """
    room = abs(margin - abs(mean))

    def settles(count: int) -> bool:
        freedom = count - 1
        share = alpha if abs(mean) < margin else alpha / 2
        reach = stats.t.ppf(1 - share, freedom) + stats.t.ppf(POWER if mean else (1 + POWER) / 2, freedom)
        return bool(reach * spread / math.sqrt(count) <= room)

    if not settles(MOST_PAIRS):
        return None
    low, high = pairs, MOST_PAIRS
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle + 1, high)
    return max(1, low - pairs)


def holm(p_values: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Return which of several findings stand when it is taken into account that there are several."""
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  # it takes a second to load

    if not p_values:
        return []
    return [bool(stands) for stands in multipletests(list(p_values), alpha=alpha, method="holm")[0]]


def _kind(low: float, high: float, inner_low: float, inner_high: float, margin: float) -> Kind:
    if low >= margin or high <= -margin:
        return Kind.MATERIAL
    real = low > 0 or high < 0
    equivalent = -margin < inner_low and inner_high < margin
    if equivalent:
        return Kind.NEGLIGIBLE if real else Kind.NONE
    return Kind.UNCERTAIN if real else Kind.INCONCLUSIVE


def _permutation(values: np.ndarray) -> float:
    found = stats.permutation_test(
        (values,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=4095,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)
