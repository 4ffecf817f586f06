"""Probabilities of the first release with a change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.runner.bisection.belief import Belief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RELEASES = ("a", "b", "c", "d")
MARGIN = 0.03
EFFECTS = st.lists(st.floats(-0.5, 2.0), max_size=6)


def belief(effects: Mapping[str, Sequence[float]], margin: float = MARGIN) -> Belief:
    return Belief.of(RELEASES, effects, margin)


def test_before_a_boot_a_change_is_as_probable_as_none_and_the_last_release_is_measured_first() -> None:
    first = belief({})
    assert first.no_change == pytest.approx(0.5)
    assert first.first_bad == pytest.approx([0.125] * 4)
    assert first.least_certain_first[0] == "d"


def test_the_release_whose_boots_begin_to_differ_is_the_answer() -> None:
    after = belief({"d": [0.1, 0.09, 0.12], "b": [0.01, 0.0, -0.01], "c": [0.1, 0.11, 0.1]})
    assert after.answer == "c"
    assert after.probability > 0.97


def test_boots_without_an_effect_show_that_there_is_no_change() -> None:
    after = belief({"d": [0.01, -0.01, 0.0, 0.005, 0.0]})
    assert (after.answer, after.probability > 0.9) == ("", True)


def test_a_single_boot_that_is_far_off_decides_nothing() -> None:
    effects = {"d": [0.1, 0.09, 0.11], "b": [0.0, 0.01, 0.12, 0.0, -0.01], "c": [0.1, 0.1, 0.09]}
    assert belief(effects).answer == "c"


def test_a_change_for_the_better_is_found_too() -> None:
    assert belief({"d": [-0.2, -0.22, -0.2], "a": [-0.21, -0.2, -0.2]}).answer == "a"


@given(EFFECTS, EFFECTS, EFFECTS, EFFECTS, st.floats(0.001, 1.0))
def test_probabilities_are_a_distribution(
    a: list[float], b: list[float], c: list[float], d: list[float], margin: float
) -> None:
    after = belief({"a": a, "b": b, "c": c, "d": d}, margin)
    probabilities = [*after.first_bad, after.no_change]
    assert math.fsum(probabilities) == pytest.approx(1)
    assert min(probabilities) >= 0
    assert after.has_change("d") == pytest.approx(1 - after.no_change)
    assert [after.has_change(release) for release in RELEASES] == sorted(map(after.has_change, RELEASES))


@given(EFFECTS)
def test_the_order_of_boots_does_not_matter(effects: list[float]) -> None:
    one, other = belief({"d": effects}), belief({"d": effects[::-1]})
    assert np.allclose(one.first_bad, other.first_bad)
