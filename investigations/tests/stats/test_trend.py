"""Slopes, and how often a trend is seen where there is none."""

from __future__ import annotations

import random

import pytest

from evenkeel_lab.stats.trend import MIN_VALUES, trend


def walk(slope: float, seed: int, number: int = 240) -> list[float]:
    """Return values that depend on their predecessors, around a line."""
    draw, value, values = random.Random(seed), 0.0, []
    for index in range(number):
        value = 0.7 * value + draw.gauss(0, 1)
        values.append(100 + slope * index + value)
    return values


def test_a_slope_is_estimated() -> None:
    times = [float(number) for number in range(240)]
    found = trend(times, walk(0.5, seed=1))
    assert found is not None
    assert found.low < 0.5 < found.high
    assert found.is_rising


def test_few_trends_are_seen_where_there_is_none() -> None:
    times = [float(number) for number in range(240)]
    rising = sum(bool((found := trend(times, walk(0.0, seed))) and found.is_rising) for seed in range(300))
    assert rising <= 300 * 0.06


@pytest.mark.parametrize("number", [0, 1, MIN_VALUES - 1])
def test_too_few_values_have_no_trend(number: int) -> None:
    assert trend([float(index) for index in range(number)], [1.0] * number) is None
