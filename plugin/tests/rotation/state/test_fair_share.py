"""Who asks for little gets it all; who asks for much shares the rest with the others who do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.state.fair_share import FairShare, RemainingCapacity, water_fill

wanted = st.lists(st.floats(0.001, 1e4), min_size=1, max_size=20)


@given(wanted, st.floats(0.001, 1e4))
def test_all_of_it_is_given_and_no_more(asked: list[float], total: float) -> None:
    each = water_fill(asked, total)
    assert sum(min(one, each) for one in asked) == pytest.approx(min(total, sum(asked)))


@given(wanted, st.floats(0.001, 1e4))
def test_nobody_gets_less_than_an_equal_part_unless_asking_for_less(asked: list[float], total: float) -> None:
    assert water_fill(asked, total) >= total / len(asked) * (1 - 1e-9)


def served(rates: dict[str, float], seconds: float, left: float, whole: float) -> dict[str, int]:
    """Play clients that ask at steady rates while so much is left, of which nothing comes back."""
    fairness, now, got = FairShare(), 1000.0, dict.fromkeys(rates, 0)
    due = [(number / rate, client) for client, rate in rates.items() for number in range(int(rate * seconds))]
    shared = -math.inf
    for moment, client in sorted(due):
        now = 1000.0 + moment
        if now >= shared + 0.5:
            fairness.share(left, whole, max(seconds - moment, 0.1), now)
            shared = now
        fairness.admission_delay(client, now)
        if left >= 1 and not fairness.delay(client, now):
            fairness.record_pick(client, now)
            got[client] += 1
            left -= 1
    return got


def test_who_asks_for_much_leaves_enough_to_the_others() -> None:
    got = served({"small": 1.0, "large": 20.0}, 60.0, 600.0, 600.0)
    assert got["small"] >= 59
    assert sum(got.values()) >= 0.9 * 600


def test_two_who_ask_for_too_much_get_the_same_whatever_they_ask_for() -> None:
    got = served({"much": 9.0, "more": 18.0}, 60.0, 600.0, 600.0)
    assert got["much"] == pytest.approx(got["more"], rel=0.25)


def test_as_long_as_there_is_plenty_nobody_waits() -> None:
    fairness = FairShare()
    for number in range(1000):
        for client in ("a", "b"):
            fairness.admission_delay(client, 1000 + number / 100)
    fairness.share(900.0, 1000.0, 60.0, 1010.0)
    assert not fairness.is_scarce
    assert fairness.delay("a", 1010.0) == 0


def test_one_client_alone_has_nobody_to_leave_anything_to() -> None:
    got = served({"only": 20.0}, 60.0, 600.0, 600.0)
    assert got == {"only": 600}


def test_accounts_without_limits_are_never_scarce() -> None:
    fairness, stock = FairShare(), RemainingCapacity()
    stock.add(5.0, 100.0, 10.0)
    stock.add(math.inf, math.inf, 0.0)
    for client in ("a", "b"):
        for number in range(100):
            fairness.admission_delay(client, 1000 + number / 100)
    assert not stock.share(fairness, 1001.0)
    assert not fairness.is_scarce


def test_little_that_is_left_is_looked_at_often() -> None:
    stock = RemainingCapacity()
    stock.add(40.0, 100.0, 10.0)
    assert stock.share(FairShare(), 1000.0)
