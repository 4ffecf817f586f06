from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from evenkeel_lab.stats import Kind, Verdict, detectable, judge, second_opinion

differences = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=6, max_size=30)
margins = st.floats(0.01, 0.5)
RANK = {Kind.NONE: 0, Kind.NEGLIGIBLE: 1, Kind.INCONCLUSIVE: 1, Kind.UNCERTAIN: 2, Kind.MATERIAL: 3}


def rule(found: Verdict) -> set[Kind]:
    """Return every verdict whose definition fits, but for what was said before it."""
    real = found.low > 0 or found.high < 0
    within = -found.margin < found.inner_low and found.inner_high < found.margin
    fitting = {
        Kind.MATERIAL: found.low >= found.margin or found.high <= -found.margin,
        Kind.NEGLIGIBLE: real and within,
        Kind.NONE: not real and within,
        Kind.UNCERTAIN: real and not within,
        Kind.INCONCLUSIVE: not real and not within,
    }
    return {kind for kind, fits in fitting.items() if fits}


@given(differences, margins)
def test_exactly_one_verdict_is_given_and_it_fits(values: list[float], margin: float) -> None:
    found = judge(values, margin)
    fitting = rule(found)
    assert found.kind in fitting
    # What is material is also real and not within the margin; nothing else ever overlaps.
    assert fitting - {Kind.MATERIAL} in ({found.kind}, {Kind.UNCERTAIN})
    assert found.low <= found.inner_low <= found.mean <= found.inner_high <= found.high


@given(differences, margins)
def test_swapping_the_arms_swaps_the_sign_and_nothing_else(values: list[float], margin: float) -> None:
    found, swapped = judge(values, margin), judge([-value for value in values], margin)
    assert found.kind is swapped.kind
    assert (found.mean, found.low) == pytest.approx((-swapped.mean, -swapped.high), abs=1e-12)
    assert (found.more_pairs, found.spread) == (swapped.more_pairs, pytest.approx(swapped.spread))


@given(differences, margins, st.lists(st.floats(0, 2), min_size=2, max_size=6))
def test_a_larger_effect_is_never_told_as_a_smaller_one(
    values: list[float], margin: float, shifts: list[float]
) -> None:
    centred = np.array(values) - np.mean(values)
    ranks = [RANK[judge(centred + shift, margin).kind] for shift in sorted(shifts)]
    assert ranks == sorted(ranks)


@given(differences, margins)
def test_a_wider_margin_makes_nothing_more_material(values: list[float], margin: float) -> None:
    narrow, wide = judge(values, margin).kind, judge(values, margin * 2).kind
    assert wide is not Kind.MATERIAL or narrow is Kind.MATERIAL
    assert narrow is not Kind.NONE or wide is Kind.NONE


@settings(max_examples=50, deadline=None)
@given(st.floats(0.02, 0.3), st.integers(0, 10_000))
def test_what_is_inconclusive_is_settled_by_the_further_pairs_it_asks_for(spread: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, spread, 6)
    found = judge(values, 0.05)
    assume(found.more_pairs is not None)
    assert not found.kind.is_settled
    assert found.more_pairs is not None
    # As many more of the same mean and spread.
    count = 6 + found.more_pairs
    more = np.resize(values, count)
    more = (more - more.mean()) / more.std(ddof=1) * found.spread + found.mean
    assert judge(more, 0.05).kind.is_settled


@pytest.mark.parametrize(("spread", "pairs"), [(0.08, 25), (0.12, 54)])
def test_how_many_pairs_a_true_zero_needs(spread: float, pairs: int) -> None:
    values = np.array([1, -1, 1, -1, 1, -1]) / math.sqrt(1.2) * spread
    found = judge(values, math.log1p(0.05))
    assert found.spread == pytest.approx(spread)
    assert found.more_pairs == pairs - 6


def test_no_number_of_pairs_settles_what_lies_on_the_margin() -> None:
    values = np.array([1, -1, 1, -1, 1, -1]) * 0.2 + 0.05
    assert judge(values, 0.05).more_pairs is None


def test_the_smallest_difference_that_is_found() -> None:
    # t(.975, 5) = 2.571, t(.80, 5) = 0.920
    assert detectable(0.03, 6) == pytest.approx((2.571 + 0.920) * 0.03 / math.sqrt(6), rel=1e-3)


def test_the_second_opinion_counts_signs() -> None:
    assert second_opinion([0.1, 0.2, 0.15, 0.12, 0.3, 0.05]) == pytest.approx(2 / 64)


def test_pairs_without_any_difference() -> None:
    found = judge([0.0] * 6, 0.05)
    assert (found.kind, found.p, found.spread) == (Kind.NONE, 1.0, 0.0)


@pytest.mark.parametrize(
    ("values", "margin", "told"),
    [
        ([0.1] * 5, 0.05, "no basis for a verdict"),
        ([], 0.05, "no basis for a verdict"),
        ([math.nan] * 6, 0.05, "finite"),
        ([0.1] * 6, 0.0, "above zero"),
        ([0.1] * 6, math.inf, "above zero"),
    ],
)
def test_no_verdict_is_invented(values: list[float], margin: float, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        judge(values, margin)
