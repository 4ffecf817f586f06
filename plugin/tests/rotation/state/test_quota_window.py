"""The remaining capacity of a quota window is never larger than the limit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.model.limits import RateLimit, Unit
from litellm_evenkeel.rotation.state.quota_window import PARTS, QuotaWindow

MINUTE = RateLimit(Unit.REQUESTS, 60, 60.0)
steps = st.lists(st.tuples(st.floats(0, 30), st.floats(0.01, 20)), max_size=60)


@given(steps, st.floats(0, 1e9))
def test_no_period_ever_sees_more_than_the_limit(told: list[tuple[float, float]], start: float) -> None:
    window, now, taken = QuotaWindow(MINUTE), start, []
    for pause, amount in told:
        now += pause
        if window.available(now) >= amount:
            window.take(now, amount)
            taken.append((now, amount))
        in_the_last = sum(much for when, much in taken if when > now - MINUTE.seconds)
        assert in_the_last <= MINUTE.amount * (1 + 1e-9)


@given(steps)
def test_what_does_not_fit_fits_when_it_is_said_to(told: list[tuple[float, float]]) -> None:
    window, now = QuotaWindow(MINUTE), 1000.0
    for pause, amount in told:
        now += pause
        wait = window.wait_for(now, amount)
        assert (wait == 0) == (window.available(now) >= amount - 1e-9) or wait < 1e-6
        assert 0 <= wait <= MINUTE.seconds * (1 + 2 / PARTS)
        now += wait * (1 + 1e-9) + 1e-6
        assert window.available(now) >= amount - 1e-6
        window.take(now, amount)


def test_what_was_used_counts_for_a_period_and_hardly_longer() -> None:
    window = QuotaWindow(MINUTE)
    window.take(1000.0, 60)
    assert window.available(1059.9) == 0
    assert window.available(1061.1) == 60


def test_an_estimate_that_was_too_high_is_given_back_where_it_was_counted() -> None:
    window = QuotaWindow(MINUTE)
    window.take(1000.0, 40)
    window.take(1030.0, 10)
    window.give_back(1000.0, 1031.0, 30)
    assert window.available(1031.0) == 40
    assert window.available(1061.1) == 50
    # It has left the window by now.
    window.give_back(1000.0, 1062.0, 10)
    assert window.available(1062.0) == 50


def test_what_the_provider_says_is_believed_until_its_reset() -> None:
    window = QuotaWindow(MINUTE)
    window.apply_reading(1000.0, 1000.0, 5, 20.0)
    assert window.available(1000.0) == 5
    window.take(1001.0, 3)
    assert window.available(1001.0) == 2
    assert window.wait_for(1001.0, 3) == pytest.approx(19)
    assert window.resets_in(1001.0) == pytest.approx(19)
    # The provider has forgotten by then what was used before it spoke.
    assert window.available(1020.1) == 57


def test_more_than_the_whole_limit_never_fits() -> None:
    assert QuotaWindow(MINUTE).wait_for(0.0, 61) == math.inf


def test_the_rate_is_that_of_late_and_fades() -> None:
    window = QuotaWindow(MINUTE)
    for second in range(120):
        window.take(1000.0 + second, 0.5)
    assert window.rate(1119.0) == pytest.approx(0.5, rel=0.2)
    assert window.rate(1119.0 + 600) < 0.001


def test_it_runs_out_only_if_that_is_before_its_reset() -> None:
    window = QuotaWindow(RateLimit(Unit.TOKENS, 1000, 18_000.0))
    window.apply_reading(1000.0, 1000.0, 1000, 10_000.0)
    assert window.exhausted_in(1000.0) == math.inf
    for second in range(300):
        window.take(1000.0 + second, 1)
    # 700 are left, 0.63 go in a second, and the reset is in hours.
    assert 800 < window.exhausted_in(1300.0) < 1500
    window.apply_reading(1300.0, 1300.0, 700, 100.0)
    assert window.exhausted_in(1300.0) == math.inf


def test_a_rolling_limit_that_is_used_slower_than_it_comes_back_never_runs_out() -> None:
    window = QuotaWindow(MINUTE)
    for second in range(300):
        window.take(1000.0 + second, 0.9)
    assert window.exhausted_in(1300.0) == math.inf


def test_a_provider_that_has_reset_early_is_believed() -> None:
    window = QuotaWindow(MINUTE)
    window.take(1000.0, 60)
    assert window.available(1010.0) == 0
    window.apply_reading(1010.0, 1010.2, 59, 50.0)
    assert window.available(1010.3) == 59


def test_what_was_begun_after_the_request_that_tells_is_not_thought_to_be_told() -> None:
    window = QuotaWindow(MINUTE)
    window.take(1000.0, 1)
    window.take(1005.0, 10)
    window.apply_reading(1000.0, 1006.0, 30, 20.0, pending=10)
    assert window.available(1006.0) == 20
    # An answer that was overtaken says nothing new.
    window.apply_reading(999.0, 1007.0, 50, 20.0)
    assert window.available(1007.0) == 20


def test_what_was_used_before_counts_once_however_long_the_parts_of_a_window_are() -> None:
    week = QuotaWindow(RateLimit(Unit.REQUESTS, 1000, 7 * 86_400.0))
    for second in range(300):
        week.take(1000.0 + second, 1)
    week.apply_reading(1299.0, 1300.0, 700, 86_400.0)
    assert week.available(1300.0) == 700


def test_after_the_providers_reset_nothing_counts_that_was_before_it_spoke() -> None:
    window = QuotaWindow(MINUTE)
    window.take(1000.0, 60)
    window.apply_reading(1002.0, 1002.1, 0, 10.0)
    assert window.wait_for(1003.0, 1) == pytest.approx(9.1)
    assert window.available(1012.2) == 60
