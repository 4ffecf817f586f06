from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.timing.distributions import (
    Capped,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Uniform,
)
from evenkeel_mock.timing.draws import uniforms

if TYPE_CHECKING:
    from collections.abc import Callable

SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True).filter(lambda u: 2.0**-53 <= u <= 1 - 2.0**-53)
EXTREMES = (2.0**-53, 1 - 2.0**-53)

ORDERED: list[Distribution] = [
    Constant(5),
    Uniform(2, 9),
    Exponential(30),
    Lognormal(200, 0.5),
    Lognormal(200, 0),
    Pareto(50, 2.5),
    Pareto(50, 0.1),
    Gamma(0.3, 100),
    Gamma(4, 25),
    Empirical.of_values([3, 1, 2]),
    Empirical.of_values([7]),
    Empirical((0, 0.5, 0.99, 1), (10, 20, 90, 1000)),
    Capped(Lognormal(200, 2), 500),
]
MIXTURE = Mixture((99, 1), (Lognormal(200, 0.5), Pareto(2000, 1.5)))


@pytest.mark.parametrize("distribution", ORDERED, ids=repr)
@given(first=SHARES, second=SHARES)
def test_a_greater_share_gives_no_smaller_number(distribution: Distribution, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert 0 <= distribution.at(low) <= distribution.at(high) < math.inf


@pytest.mark.parametrize("distribution", [*ORDERED, MIXTURE], ids=repr)
@pytest.mark.parametrize("u", EXTREMES)
def test_the_rarest_draws_are_finite(distribution: Distribution, u: float) -> None:
    assert 0 <= distribution.at(u) < math.inf


@pytest.mark.parametrize(
    ("distribution", "at", "expected"),
    [
        (Constant(5), 0.3, 5),
        (Uniform(2, 9), 0.5, 5.5),
        (Exponential(30), 1 - math.exp(-1), 30),
        (Lognormal(200, 0.5), 0.5, 200),
        # The share below one standard deviation.
        (Lognormal(200, 0.5), 0.8413447460685429, 200 * math.exp(0.5)),
        (Pareto(50, 2), 0.75, 100),
        (Gamma(1, 10), 0.5, 10 * math.log(2)),
        (Gamma(2.5, 2), 0.999, 2 * 10.257502826216436),
        (Empirical.of_values([10, 20, 40]), 0.75, 30),
        (Empirical((0, 0.5, 0.99, 1), (10, 20, 90, 1000)), 0.995, 545),
        (Capped(Lognormal(200, 2), 500), 0.99, 500),
    ],
)
def test_known_quantiles(distribution: Distribution, at: float, expected: float) -> None:
    assert distribution.at(at) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("distribution", "mean"),
    [
        (Exponential(30), 30),
        (Gamma(0.5, 20), 10),
        (Gamma(9, 3), 27),
        (Lognormal(100, 0.5), 100 * math.exp(0.125)),
        (Mixture((3, 1), (Constant(10), Uniform(20, 40))), 15),
    ],
)
def test_means_over_many_draws(distribution: Distribution, mean: float) -> None:
    assert fmean(distribution.at(u) for u in uniforms(1, b"", b"", 50_000)) == pytest.approx(mean, rel=0.02)


def test_a_mixture_takes_each_part_as_often_as_it_weighs_and_whole() -> None:
    mixture = Mixture((2, 1, 1), (Uniform(0, 1), Uniform(10, 11), Uniform(20, 21)))
    drawn = [mixture.at(u) for u in uniforms(3, b"", b"", 40_000)]
    for start, share in ((0, 0.5), (10, 0.25), (20, 0.25)):
        within = [number - start for number in drawn if start <= number <= start + 1]
        assert len(within) / len(drawn) == pytest.approx(share, abs=0.01)
        assert median(within) == pytest.approx(0.5, abs=0.02)


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=9), SHARES)
def test_a_mixture_stays_within_its_parts(weights: list[float], u: float) -> None:
    mixture = Mixture(tuple(weights), tuple(Uniform(number, number + 0.5) for number in range(len(weights))))
    found = mixture.at(u)
    assert int(found) <= found <= int(found) + 0.5 <= len(weights)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), SHARES)
def test_an_empirical_draw_lies_within_the_sample(values: list[float], u: float) -> None:
    found = Empirical.of_values(values).at(u)
    assert (
        min(values) <= found <= max(values)
        or found == pytest.approx(min(values))
        or found == pytest.approx(max(values))
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: Constant(-1),
        lambda: Constant(math.nan),
        lambda: Uniform(3, 2),
        lambda: Exponential(0),
        lambda: Lognormal(0, 1),
        lambda: Lognormal(1, -1),
        lambda: Pareto(0, 1),
        lambda: Pareto(1, 0),
        lambda: Gamma(0, 1),
        lambda: Gamma(1, 0),
        lambda: Empirical((), ()),
        lambda: Empirical((0, 1), (2, 1)),
        lambda: Empirical((0.1, 1), (1, 2)),
        lambda: Mixture((), ()),
        lambda: Mixture((0,), (Constant(1),)),
        lambda: Capped(Constant(1), -1),
    ],
)
def test_what_cannot_be_is_refused(build: Callable[[], Distribution]) -> None:
    with pytest.raises(MockConfigError):
        build()
