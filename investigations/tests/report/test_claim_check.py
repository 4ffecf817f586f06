from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.report.claim_check import ClaimVerdict, check_claim

ENDS = st.floats(-0.9, 10, allow_nan=False)
RANGES = st.tuples(ENDS, ENDS).map(sorted).filter(lambda pair: pair[0] < pair[1]).map(tuple)


@pytest.mark.parametrize(
    ("claimed", "ours", "expected"),
    [
        ((0.1, 0.5), (0.2, 0.3), ClaimVerdict.CONFIRMED),
        ((-0.05, 0.05), (-0.01, 0.02), ClaimVerdict.CONFIRMED),
        # It is slower, but by less, by more, or perhaps by as much.
        ((0.1, 0.5), (0.02, 0.05), ClaimVerdict.REFINED),
        ((0.1, 0.5), (0.8, 0.9), ClaimVerdict.REFINED),
        ((0.1, 0.5), (0.05, 0.3), ClaimVerdict.REFINED),
        ((-0.5, -0.1), (-0.08, -0.02), ClaimVerdict.REFINED),
        ((0.1, 0.5), (-0.3, -0.1), ClaimVerdict.REFUTED),
        ((-0.05, 0.05), (0.2, 0.3), ClaimVerdict.REFUTED),
        ((0.1, 0.5), (-0.05, 0.02), ClaimVerdict.REFUTED),
        ((0.1, 0.5), (-0.05, 0.2), ClaimVerdict.OPEN),
        ((-0.05, 0.05), (-0.01, 0.2), ClaimVerdict.OPEN),
        # There is a difference, and it may be too small to matter.
        ((-0.05, 0.05), (0.03, 0.2), ClaimVerdict.REFINED),
        ((-0.05, 0.05), (-0.2, -0.03), ClaimVerdict.REFINED),
    ],
)
def test_the_verdict_on_a_claim_depends_on_the_position_of_the_interval(
    claimed: tuple[float, float], ours: tuple[float, float], expected: ClaimVerdict
) -> None:
    assert check_claim(claimed, *ours, is_real=True) is expected


@given(RANGES, RANGES)
def test_an_interval_within_the_range_confirms_and_a_refuting_one_is_outside(
    claimed: tuple[float, float], ours: tuple[float, float]
) -> None:
    verdict = check_claim(claimed, *ours, is_real=True)
    assert (verdict is ClaimVerdict.CONFIRMED) == (claimed[0] <= ours[0] and ours[1] <= claimed[1])
    if verdict is ClaimVerdict.REFUTED:
        assert ours[1] < claimed[0] or ours[0] > claimed[1]


@given(RANGES, RANGES)
def test_a_narrower_interval_changes_only_open_verdicts(
    claimed: tuple[float, float], ours: tuple[float, float]
) -> None:
    low, high = ours
    narrower = check_claim(claimed, low + (high - low) / 4, high - (high - low) / 4, is_real=True)
    if check_claim(claimed, low, high, is_real=True) in {ClaimVerdict.CONFIRMED, ClaimVerdict.REFUTED}:
        assert narrower in {check_claim(claimed, low, high, is_real=True), ClaimVerdict.REFINED}


def test_an_effect_that_may_be_chance_refines_no_claim() -> None:
    assert check_claim((0.25, 0.6), 0.005, 0.3, is_real=True) is ClaimVerdict.REFINED
    assert check_claim((0.25, 0.6), 0.005, 0.3, is_real=False) is ClaimVerdict.OPEN
    assert check_claim((0.25, 0.6), 0.005, 0.2, is_real=False) is ClaimVerdict.REFUTED
    assert check_claim((-0.05, 0.05), 0.005, 0.2, is_real=False) is ClaimVerdict.OPEN
    assert check_claim((-0.05, 0.05), 0.06, 0.2, is_real=False) is ClaimVerdict.OPEN
