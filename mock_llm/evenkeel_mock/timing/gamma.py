"""The quantile function of the gamma distribution, in plain Python.

`log_quantile` is exact to about 1e-12 and takes tens of microseconds: Newton's method, held by bisection, on the
regularised incomplete gamma function. `Table` is what draws use, in a microsecond: its nodes are from `log_quantile`,
the curve between them is within 1e-8 of it.
"""

from __future__ import annotations

import math
from itertools import pairwise

# The extremes of `draws.uniform` lie at 8.2 standard deviations.
REACH = 8.5
NODES = 545
_EPSILON = 1e-15
_TINY = 1e-300
_ROUNDS = 200


def log_quantile(shape: float, z: float) -> float:
    """Return the logarithm of the quantile (scale 1) at the probability of a standard normal below z.

    The probability comes as z, because near 1 a float cannot tell probabilities apart. The result is a logarithm,
    because with a small shape quantiles are too small for a float.
    """
    upper = z > 0
    target = 0.5 * math.erfc(abs(z) / math.sqrt(2))
    log_target = math.log(target)
    low, high = -math.inf, math.inf
    y = _start(shape, z)
    for _ in range(_ROUNDS):
        tail = _log_upper(shape, y) if upper else _log_lower(shape, y)
        error = tail - log_target
        # More lies below with a greater y, and less above.
        if (error > 0) != upper:
            high = min(high, y)
        else:
            low = max(low, y)
        # d log P / dy = density(y) / P, where density(y) is that of the logarithm.
        slope = math.exp(shape * y - math.exp(y) - math.lgamma(shape) - tail)
        step = error / (-slope if upper else slope) if slope > _TINY else math.inf
        following = y - max(-2.0, min(2.0, step)) if math.isfinite(step) else math.nan
        if not low < following < high:
            if abs(y - following) <= _EPSILON * 8 * max(1.0, abs(y)):
                return y
            following = (low + high) / 2 if math.isfinite(low + high) else y + (2.0 if math.isfinite(low) else -2.0)
        if abs(following - y) <= _EPSILON * 4 * max(1.0, abs(y)):
            return following
        y = following
    return y


class Table:
    """The quantiles of one shape, as cubic pieces of log(quantile) over z."""

    __slots__ = ("_pieces", "_step")

    def __init__(self, shape: float) -> None:
        step = 2 * REACH / (NODES - 1)
        constant = math.lgamma(shape) - 0.5 * math.log(2 * math.pi)
        nodes = []
        for number in range(NODES):
            z = -REACH + number * step
            y = log_quantile(shape, z)
            # dy/dz: the normal's density at z over the density of the logarithm at y, times the width of a piece.
            nodes.append((y, step * math.exp(constant - z * z / 2 - shape * y + math.exp(y))))
        self._step = step
        self._pieces = [
            (y, slope, 3 * (after - y) - 2 * slope - slope_after, 2 * (y - after) + slope + slope_after)
            for (y, slope), (after, slope_after) in pairwise(nodes)
        ]

    def quantile(self, z: float) -> float:
        """Return the quantile (scale 1) at z standard deviations."""
        position = (min(max(z, -REACH), REACH) + REACH) / self._step
        number = min(int(position), NODES - 2)
        t = position - number
        a, b, c, d = self._pieces[number]
        return math.exp(a + t * (b + t * (c + t * d)))


def _start(shape: float, z: float) -> float:
    """Wilson and Hilferty: the cube root of a gamma variable is nearly normal. Near zero: the series' first term."""
    cube_root = 1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))
    if cube_root > 0.1:  # noqa: PLR2004  # below, the approximation has lost its way
        return math.log(shape) + 3 * math.log(cube_root)
    return (math.log(0.5 * math.erfc(-z / math.sqrt(2))) + math.lgamma(shape + 1)) / shape


def _log_lower(shape: float, y: float) -> float:
    """Return log P(shape, e^y)."""
    x = math.exp(y)
    if x < shape + 1:
        return _log_series(shape, x, y)
    return math.log1p(-min(math.exp(_log_fraction(shape, x, y)), 1 - _EPSILON))


def _log_upper(shape: float, y: float) -> float:
    """Return log Q(shape, e^y)."""
    x = math.exp(y)
    if x >= shape + 1:
        return _log_fraction(shape, x, y)
    return math.log1p(-min(math.exp(_log_series(shape, x, y)), 1 - _EPSILON))


def _log_series(shape: float, x: float, y: float) -> float:
    """P as the series x^a e^-x / gamma(a+1) * (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...)."""
    term = total = 1.0
    divisor = shape
    while term > total * _EPSILON:
        divisor += 1
        term *= x / divisor
        total += term
    return shape * y - x - math.lgamma(shape + 1) + math.log(total)


def _log_fraction(shape: float, x: float, y: float) -> float:
    """Q as a continued fraction, evaluated from the front (Lentz)."""
    b = x + 1 - shape
    c = 1 / _TINY
    d = 1 / b
    value = d
    number = 0
    change = 0.0
    while abs(change - 1) > _EPSILON:
        number += 1
        factor = -number * (number - shape)
        b += 2
        d = factor * d + b
        d = 1 / (d if abs(d) > _TINY else _TINY)
        c = b + factor / c
        c = c if abs(c) > _TINY else _TINY
        change = d * c
        value *= change
        if number > 100_000:  # noqa: PLR2004  # it converges long before; a last bit that flips must not hang us
            break
    return shape * y - x - math.lgamma(shape) + math.log(value)
