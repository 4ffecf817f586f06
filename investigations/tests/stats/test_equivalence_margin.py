from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, strategies as st

from evenkeel_lab.stats import Margin, Scale, alpha_per_look, check_looks

figures = st.floats(0.001, 1e6)
shares = st.floats(0, 1)


@given(st.lists(st.tuples(figures, figures), min_size=1))
def test_a_factor_and_its_inverse_have_the_same_size(pairs: list[tuple[float, float]]) -> None:
    margin = Margin(Scale.FACTOR, 0.05)
    first, second = zip(*pairs, strict=True)
    there, back = margin.differences(first, second), margin.differences(second, first)
    assert there == pytest.approx([-one for one in back])
    assert [margin.effect(one) for one in there] == pytest.approx([b / a - 1 for a, b in pairs])


@given(st.lists(st.tuples(shares, shares), min_size=1))
def test_shares_are_compared_in_points_and_may_be_zero(pairs: list[tuple[float, float]]) -> None:
    margin = Margin(Scale.POINTS, 0.01)
    first, second = zip(*pairs, strict=True)
    assert margin.differences(first, second) == [b - a for a, b in pairs]
    assert margin.width(first, second) == 0.01


def test_a_floor_widens_the_margin_of_small_values_only() -> None:
    margin = Margin(Scale.FACTOR, 0.05, floor=1.0)
    assert margin.width([4.0, 5.0, 6.0], [7.0]) == pytest.approx(math.log1p(0.2))
    assert margin.width([100.0, 120.0], [90.0]) == pytest.approx(math.log1p(0.05))
    assert margin.width([0.0], [4.0]) == math.inf


@given(figures, figures, st.floats(0.01, 1e6))
def test_a_difference_within_the_floor_is_within_the_margin_for_either_baseline(
    first: float, second: float, floor: float
) -> None:
    margin = Margin(Scale.FACTOR, 1e-9, floor)
    width = margin.width([first], [second])
    assert width == margin.width([second], [first])
    apart = abs(first - second)
    assume(apart != pytest.approx(floor, rel=1e-6))
    (difference,) = margin.differences([first], [second])
    assert (abs(difference) < width) == (apart < floor)


@given(*[st.floats(5e-324, 1.7e308)] * 3)
def test_values_of_any_size_have_a_finite_difference_and_margin(first: float, second: float, floor: float) -> None:
    margin = Margin(Scale.FACTOR, 0.05, floor)
    (difference,) = margin.differences([first], [second])
    assert math.isfinite(difference)
    assert math.isfinite(margin.width([first] * 2, [second]))
    assert margin.effect(difference) >= -1


@pytest.mark.parametrize(("looks", "alpha"), [((6,), 0.05), ((6, 12), 0.027), ((6, 12, 24), 0.018)])
def test_more_looks_lower_the_alpha_of_each(looks: tuple[int, ...], alpha: float) -> None:
    assert alpha_per_look(looks) == alpha


@pytest.mark.parametrize("looks", [(), (5,), (6, 6), (12, 6), (6, 8, 10, 12)])
def test_invalid_looks_are_refused(looks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"look|pairs"):
        check_looks(looks)
