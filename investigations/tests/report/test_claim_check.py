from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.report.claim_check import Ruling, ruling

ENDS = st.floats(-0.9, 10, allow_nan=False)
RANGES = st.tuples(ENDS, ENDS).map(sorted).filter(lambda pair: pair[0] < pair[1]).map(tuple)


@pytest.mark.parametrize(
    ("claimed", "ours", "told"),
    [
        ((0.1, 0.5), (0.2, 0.3), Ruling.CONFIRMED),
        ((-0.05, 0.05), (-0.01, 0.02), Ruling.CONFIRMED),
        # It is slower, but by less; or by more; or it may be as much.
        ((0.1, 0.5), (0.02, 0.05), Ruling.REFINED),
        ((0.1, 0.5), (0.8, 0.9), Ruling.REFINED),
        ((0.1, 0.5), (0.05, 0.3), Ruling.REFINED),
        ((-0.5, -0.1), (-0.08, -0.02), Ruling.REFINED),
        ((0.1, 0.5), (-0.3, -0.1), Ruling.REFUTED),
        ((-0.05, 0.05), (0.2, 0.3), Ruling.REFUTED),
        ((0.1, 0.5), (-0.05, 0.02), Ruling.REFUTED),
        ((0.1, 0.5), (-0.05, 0.2), Ruling.OPEN),
        ((-0.05, 0.05), (-0.01, 0.2), Ruling.OPEN),
        # There is a difference, and it may be too small to matter.
        ((-0.05, 0.05), (0.03, 0.2), Ruling.REFINED),
        ((-0.05, 0.05), (-0.2, -0.03), Ruling.REFINED),
    ],
)
def test_a_claim_is_ruled_on_by_where_our_interval_lies(
    claimed: tuple[float, float], ours: tuple[float, float], told: Ruling
) -> None:
    assert ruling(claimed, *ours, is_real=True) is told


@given(RANGES, RANGES)
def test_what_is_within_is_confirmed_and_what_is_refuted_does_not_touch(
    claimed: tuple[float, float], ours: tuple[float, float]
) -> None:
    found = ruling(claimed, *ours, is_real=True)
    assert (found is Ruling.CONFIRMED) == (claimed[0] <= ours[0] and ours[1] <= claimed[1])
    if found is Ruling.REFUTED:
        assert ours[1] < claimed[0] or ours[0] > claimed[1]


@given(RANGES, RANGES)
def test_a_narrower_interval_overturns_no_ruling_but_an_open_one(
    claimed: tuple[float, float], ours: tuple[float, float]
) -> None:
    low, high = ours
    narrower = ruling(claimed, low + (high - low) / 4, high - (high - low) / 4, is_real=True)
    if ruling(claimed, low, high, is_real=True) in {Ruling.CONFIRMED, Ruling.REFUTED}:
        assert narrower in {ruling(claimed, low, high, is_real=True), Ruling.REFINED}


def test_what_may_be_chance_refines_nothing() -> None:
    assert ruling((0.25, 0.6), 0.005, 0.3, is_real=True) is Ruling.REFINED
    assert ruling((0.25, 0.6), 0.005, 0.3, is_real=False) is Ruling.OPEN
    assert ruling((0.25, 0.6), 0.005, 0.2, is_real=False) is Ruling.REFUTED
    assert ruling((-0.05, 0.05), 0.005, 0.2, is_real=False) is Ruling.OPEN
    assert ruling((-0.05, 0.05), 0.06, 0.2, is_real=False) is Ruling.OPEN
