from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from evenkeel_lab.stats import Kind, Verdict, detectable, equivalence_test, permutation_p_value

differences = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=6, max_size=30)
margins = st.floats(0.01, 0.3)
RANK = {Kind.NONE: 0, Kind.NEGLIGIBLE: 1, Kind.INCONCLUSIVE: 1, Kind.UNCERTAIN: 2, Kind.MATERIAL: 3}


def rule(result: Verdict) -> set[Kind]:
    """Return every verdict whose definition fits, but for what was said before it."""
    real = result.low > 0 or result.high < 0
    within = -result.margin < result.inner_low and result.inner_high < result.margin
    fitting = {
        Kind.MATERIAL: result.low >= result.margin or result.high <= -result.margin,
        Kind.NEGLIGIBLE: real and within,
        Kind.NONE: not real and within,
        Kind.UNCERTAIN: real and not within,
        Kind.INCONCLUSIVE: not real and not within,
    }
    return {kind for kind, fits in fitting.items() if fits}


@given(differences, margins)
def test_the_verdict_is_the_first_that_applies(values: list[float], margin: float) -> None:
    result = equivalence_test(values, margin)
    fitting = rule(result)
    assert result.kind in fitting
    # What is material is also real and not within the margin; nothing else ever overlaps.
    assert fitting - {Kind.MATERIAL} in ({result.kind}, {Kind.UNCERTAIN})
    assert result.low <= result.inner_low <= result.mean <= result.inner_high <= result.high


@given(differences, margins)
def test_swapping_the_arms_swaps_the_sign_and_nothing_else(values: list[float], margin: float) -> None:
    result, swapped = equivalence_test(values, margin), equivalence_test([-value for value in values], margin)
    assert result.kind is swapped.kind
    assert (result.mean, result.low) == pytest.approx((-swapped.mean, -swapped.high), abs=1e-12)
    assert (result.more_pairs, result.spread) == (swapped.more_pairs, pytest.approx(swapped.spread))


@given(differences, margins, st.lists(st.floats(0, 2), min_size=2, max_size=6))
def test_a_larger_effect_never_gets_a_weaker_verdict(values: list[float], margin: float, shifts: list[float]) -> None:
    centred = np.array(values) - np.mean(values)
    ranks = [RANK[equivalence_test(centred + shift, margin).kind] for shift in sorted(shifts)]
    assert ranks == sorted(ranks)


@given(differences, margins)
def test_a_wider_margin_makes_nothing_more_material(values: list[float], margin: float) -> None:
    narrow, wide = equivalence_test(values, margin).kind, equivalence_test(values, margin * 2).kind
    assert wide is not Kind.MATERIAL or narrow is Kind.MATERIAL
    assert narrow is not Kind.NONE or wide is Kind.NONE


@settings(max_examples=50, deadline=None)
@given(st.floats(0.02, 0.3), st.integers(0, 10_000))
def test_the_stated_further_pairs_settle_an_inconclusive_verdict(spread: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, spread, 6)
    result = equivalence_test(values, 0.05)
    assume(result.more_pairs is not None)
    assert not result.kind.is_settled
    assert result.more_pairs is not None
    # As many more of the same mean and spread.
    count = 6 + result.more_pairs
    more = np.resize(values, count)
    more = (more - more.mean()) / more.std(ddof=1) * result.spread + result.mean
    assert equivalence_test(more, 0.05).kind.is_settled


@pytest.mark.parametrize(("spread", "pairs"), [(0.08, 25), (0.12, 54)])
def test_the_further_pairs_of_a_true_zero_match_the_power(spread: float, pairs: int) -> None:
    values = np.array([1, -1, 1, -1, 1, -1]) / math.sqrt(1.2) * spread
    result = equivalence_test(values, math.log1p(0.05))
    assert result.spread == pytest.approx(spread)
    assert result.more_pairs == pairs - 6


def test_no_number_of_pairs_settles_a_mean_on_the_margin() -> None:
    values = np.array([1, -1, 1, -1, 1, -1]) * 0.2 + 0.05
    assert equivalence_test(values, 0.05).more_pairs is None


def test_the_detectable_difference_matches_the_power() -> None:
    # t(.975, 5) = 2.571, t(.80, 5) = 0.920
    assert detectable(0.03, 6) == pytest.approx((2.571 + 0.920) * 0.03 / math.sqrt(6), rel=1e-3)


def test_the_permutation_test_counts_signs() -> None:
    assert permutation_p_value([0.1, 0.2, 0.15, 0.12, 0.3, 0.05]) == pytest.approx(2 / 64)


def test_pairs_without_any_difference_have_no_measurable_difference() -> None:
    result = equivalence_test([0.0] * 6, 0.05)
    assert (result.kind, result.p, result.spread) == (Kind.NONE, 1.0, 0.0)


@pytest.mark.parametrize(
    ("values", "margin", "message"),
    [
        ([0.1] * 5, 0.05, "a verdict needs at least"),
        ([], 0.05, "a verdict needs at least"),
        ([math.nan] * 6, 0.05, "finite"),
        ([0.1] * 6, 0.0, "above zero"),
        ([0.1] * 6, math.inf, "above zero"),
    ],
)
def test_invalid_input_gets_no_verdict(values: list[float], margin: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        equivalence_test(values, margin)


def test_a_margin_of_more_than_a_factor_of_two_shows_no_equivalence() -> None:
    values = [0.01, -0.01, 0.02, -0.02, 0.01, -0.01]
    assert equivalence_test(values, math.log(1.9)).kind is Kind.NONE
    assert equivalence_test(values, math.log(2.1)).kind is Kind.INCONCLUSIVE
