"""Boots that agree, and boots that do not."""

from __future__ import annotations

from hypothesis import given, strategies as st

from evenkeel_lab.runner.bisection.boots import BootEffects, agreed, are_unanimous, direction
from evenkeel_lab.stats import Scale

EFFECTS = st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=9)


def test_boots_agree_as_soon_as_enough_of_them_have_the_same_direction() -> None:
    assert agreed([0.05], 0.03, 2) is None
    assert agreed([0.05, 0.06], 0.03, 2) == 1
    assert agreed([0.05, -0.05], 0.03, 2) is None
    assert agreed([0.05, -0.05, 0.01], 0.03, 2) is None
    assert agreed([0.05, -0.05, 0.01, -0.02], 0.03, 2) == 0
    assert agreed([0.1, 0.0, 0.01], 0.03, 2) == 0


@given(EFFECTS, st.floats(0.01, 0.2), st.integers(1, 3))
def test_what_enough_boots_agree_on_first_is_the_direction_of_most(
    effects: list[float], threshold: float, boots: int
) -> None:
    number = next((n for n in range(1, len(effects) + 1) if agreed(effects[:n], threshold, boots) is not None), None)
    if number is not None:
        boots_until_then = BootEffects(effects[:number], Scale.FACTOR)
        assert boots_until_then.direction(threshold) == agreed(effects[:number], threshold, boots)


@given(st.floats(-1, 1), st.floats(0.001, 0.5))
def test_an_effect_and_its_opposite_have_opposite_directions(effect: float, threshold: float) -> None:
    assert direction(effect, threshold) == -direction(-effect, threshold)
    assert are_unanimous([effect, effect], threshold)


def test_the_text_names_each_boot() -> None:
    assert BootEffects([0.051, 0.049], Scale.FACTOR).text == "+5.0 % (boots: +5.1, +4.9)"
    assert BootEffects([-0.01], Scale.POINTS).text == "-1.0 points (boots: -1.0)"
