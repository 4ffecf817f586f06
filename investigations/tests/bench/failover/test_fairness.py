from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.bench.failover.fairness import fair, modest, shortfall

amounts = st.lists(st.floats(0, 1e6), min_size=1, max_size=6)


@given(amounts, st.floats(0, 1e6))
def test_nobody_gets_more_than_asked_for_and_nothing_is_left_lying(asked: list[float], there_is: float) -> None:
    due = fair(asked, there_is)
    assert all(0 <= have <= want for have, want in zip(due, asked, strict=True))
    assert sum(due) == pytest.approx(min(sum(asked), there_is), abs=1e-3)


@given(amounts, st.floats(0, 1e6))
def test_who_got_less_than_asked_for_got_as_much_as_anybody(asked: list[float], there_is: float) -> None:
    due = fair(asked, there_is)
    for have, want in zip(due, asked, strict=True):
        assert have >= want - 1e-6 or have >= max(due) - 1e-6


def test_a_fair_division_falls_short_by_nothing() -> None:
    asked = [10.0, 30.0, 100.0, 200.0]
    assert fair(asked, 200.0) == [10.0, 30.0, 80.0, 80.0]
    assert shortfall(asked, fair(asked, 200.0)) == pytest.approx(0.0)
    assert modest(asked, fair(asked, 200.0)) == 1.0


def test_first_come_first_served_is_not_fair() -> None:
    asked = [100.0, 300.0, 1600.0, 2000.0]
    got = [0.8 * one for one in asked]
    assert modest(asked, got) == pytest.approx(0.8)
    assert shortfall(asked, got) == pytest.approx(0.2)
    assert shortfall([100.0, 100.0], [60.0, 40.0]) == pytest.approx(0.2)
