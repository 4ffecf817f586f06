"""Distributions. Each maps a uniform number in (0, 1) to a value, so that a value needs one draw.

All but the mixture are inverse distribution functions: a greater u gives no smaller number. A mixture spends the first
part of u on choosing a component and the rest within it, which has the same distribution though not the same order.
All numbers are zero or more: they are milliseconds, or tokens.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import fields
from evenkeel_mock.timing.gamma import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

_Z = NormalDist().inv_cdf
# Outside of these, the gamma's table would be coarse or slow to build; a shape of 10,000 is a normal of 1 % width.
LEAST_SHAPE, MOST_SHAPE = 0.1, 10_000


class Distribution(Protocol):
    """A map from a uniform number to a value."""

    def at(self, u: float) -> float:
        """Return the quantile at `u`, which is above 0 and below 1."""
        ...


@dataclass(frozen=True)
class Constant:
    """A constant. Callers may use `value` and skip the draw."""

    value: float

    def __post_init__(self) -> None:
        fields.number(self.value, "constant: value")

    def at(self, _u: float) -> float:
        """Return the value."""
        return self.value


@dataclass(frozen=True)
class Uniform:
    """Anything from `low` to `high`, with equal chances."""

    low: float
    high: float

    def __post_init__(self) -> None:
        fields.number(self.low, "uniform: low")
        fields.number(self.high, "uniform: high", least=self.low)

    def at(self, u: float) -> float:
        """Return the number at the share u of the way."""
        return self.low + u * (self.high - self.low)


@dataclass(frozen=True)
class Exponential:
    """The time until something that has no memory."""

    mean: float

    def __post_init__(self) -> None:
        fields.positive(self.mean, "exponential: mean")

    def at(self, u: float) -> float:
        """Return the quantile."""
        return -self.mean * math.log1p(-u)


@dataclass(frozen=True)
class Lognormal:
    """A normal logarithm around that of the median: what most latencies look like."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        fields.positive(self.median, "lognormal: median")
        # At 8.2 standard deviations even a sigma of 20 stays a finite number.
        fields.number(self.sigma, "lognormal: sigma", most=20)

    def at(self, u: float) -> float:
        """Return the quantile."""
        return self.median * math.exp(self.sigma * _Z(u))


@dataclass(frozen=True)
class Pareto:
    """At least `minimum`, with a tail that gets heavier as `alpha` gets smaller; without a mean from alpha 1 down."""

    minimum: float
    alpha: float

    def __post_init__(self) -> None:
        fields.positive(self.minimum, "pareto: minimum")
        # Smaller ones would leave what a float can hold.
        fields.number(self.alpha, "pareto: alpha", least=0.1)

    def at(self, u: float) -> float:
        """Return the quantile."""
        return self.minimum * math.exp(-math.log1p(-u) / self.alpha)


@dataclass(frozen=True)
class Gamma:
    """The time until `shape` things that have no memory, each of mean `scale`."""

    shape: float
    scale: float
    _table: Table = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields.number(self.shape, "gamma: shape", least=LEAST_SHAPE, most=MOST_SHAPE)
        fields.positive(self.scale, "gamma: scale")
        object.__setattr__(self, "_table", Table(self.shape))

    def at(self, u: float) -> float:
        """Return the quantile."""
        return self.scale * self._table.quantile(_Z(u))


@dataclass(frozen=True)
class Empirical:
    """Measured quantiles with linear interpolation."""

    shares: tuple[float, ...]
    numbers: tuple[float, ...]

    @classmethod
    def of_values(cls, values: Sequence[float]) -> Empirical:
        """Return the distribution of a sample: the smallest at 0, the largest at 1, the others evenly between."""
        numbers = sorted(values)
        if len(numbers) == 1:
            numbers *= 2
        return cls(tuple(number / (len(numbers) - 1) for number in range(len(numbers))), tuple(numbers))

    def __post_init__(self) -> None:
        for number in self.numbers:
            fields.number(number, "empirical")
        least = 2
        if len(self.numbers) < least or len(self.numbers) != len(self.shares):
            raise MockConfigError("empirical: there are no numbers.", hint="Give one number or more, or two quantiles.")
        rising = sorted(set(self.shares)) == list(self.shares) and sorted(self.numbers) == list(self.numbers)
        if not rising or self.shares[0] != 0 or self.shares[-1] != 1:
            raise MockConfigError(
                "empirical: the quantiles do not rise from share 0 to share 1.",
                hint="Give the smallest as 0, the largest as 1, and between them rising shares with rising numbers.",
            )

    def at(self, u: float) -> float:
        """Return the number on the line between the two nearest shares."""
        after = bisect_right(self.shares, u)
        low, high = self.shares[after - 1], self.shares[after]
        start, end = self.numbers[after - 1], self.numbers[after]
        return start + (end - start) * (u - low) / (high - low)


@dataclass(frozen=True)
class Mixture:
    """One of several distributions, each with a chance in proportion to its weight."""

    weights: tuple[float, ...]
    parts: tuple[Distribution, ...]
    _bounds: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.parts or len(self.parts) != len(self.weights):
            raise MockConfigError("mixture: there are no parts.", hint="Such as 0.9*constant(5) + 0.1*constant(50).")
        for weight in self.weights:
            fields.positive(weight, "mixture: weight")
        total = math.fsum(self.weights)
        inner = (math.fsum(self.weights[:number]) / total for number in range(1, len(self.weights)))
        object.__setattr__(self, "_bounds", (0.0, *inner, 1.0))

    def at(self, u: float) -> float:
        """Choose by u, and use what of u was not needed for it."""
        bounds = self._bounds
        number = bisect_right(bounds, u) - 1
        low, high = bounds[number], bounds[number + 1]
        inner = (u - low) / (high - low)
        # A u right on a bound, or that rounds to one, is no number above 0 and below 1.
        return self.parts[number].at(min(max(inner, 2.0**-53), 1 - 2.0**-53))


@dataclass(frozen=True)
class Capped:
    """Another distribution, none of whose numbers is above `cap`."""

    inner: Distribution
    cap: float

    def __post_init__(self) -> None:
        fields.number(self.cap, "cap")

    def at(self, u: float) -> float:
        """Return the other's number or the cap."""
        return min(self.inner.at(u), self.cap)
