"""Always-valid intervals: they may be looked at after every pair, and a session may stop because of what they show.

The usual t-interval errs in one session of twenty only if the number of pairs is fixed beforehand. This one inverts a
sequential t-test: the Bayes factor of a normal effect size against none, with the standard deviation integrated out,
exceeds 1 / alpha at any time with a probability of at most alpha (Hendriksen, de Heide and Gruenwald, 2021). The price
is its width: with 6 pairs twice that of the usual one, from 12 pairs on two thirds more.
"""

from __future__ import annotations

import math

# Variance of the effect size, in standard deviations of a pair's difference. Larger values narrow the interval of few
# pairs and widen that of many.
EFFECT_VARIANCE = 1.0
# Beyond it, the p-value does not change any more, and the square overflows.
LARGEST_T = 1e100


def critical_t(pairs: int, alpha: float) -> float:
    """Return the t-value beyond which the test rejects after `pairs` pairs; `inf` if no value does."""
    shrinkage, freedom = 1 + pairs * EFFECT_VARIANCE, pairs - 1
    bound = (math.sqrt(shrinkage) / alpha) ** (2 / pairs)
    if bound >= shrinkage:
        return math.inf
    return math.sqrt(freedom * (bound - 1) / (1 - bound / shrinkage))


def p_value(t: float, pairs: int) -> float:
    """Return the always-valid p-value of a t-value after `pairs` pairs."""
    shrinkage, ratio = 1 + pairs * EFFECT_VARIANCE, min(abs(t), LARGEST_T) ** 2 / (pairs - 1)
    # As logarithms, because powers of large t-values overflow.
    log_factor = pairs / 2 * (math.log1p(ratio) - math.log1p(ratio / shrinkage)) - math.log(shrinkage) / 2
    return min(1.0, math.exp(-log_factor))
