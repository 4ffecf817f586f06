"""Tests of exponential decay."""

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.support.decay import NEGLIGIBLE_SHARE, DecayingCounter, decay_factor

TIME_CONSTANT = 20.0


def test_a_third_remains_after_one_time_constant() -> None:
    assert decay_factor(0.0, TIME_CONSTANT) == 1.0
    assert decay_factor(TIME_CONSTANT, TIME_CONSTANT) == pytest.approx(1 / math.e)


def test_a_clock_that_steps_back_does_not_increase_the_count() -> None:
    assert decay_factor(-5.0, TIME_CONSTANT) == 1.0


def test_a_counter_without_events_is_zero() -> None:
    assert DecayingCounter(TIME_CONSTANT).count(1e9) == 0.0


@given(st.lists(st.floats(0, 60), max_size=50), st.floats(0, 100))
def test_a_counter_is_the_sum_of_its_decayed_events(pauses: list[float], end: float) -> None:
    counter, now, times = DecayingCounter(TIME_CONSTANT), 0.0, []
    for pause in pauses:
        now += pause
        times.append(now)
        counter.add(now)
    now += end
    exact = sum(decay_factor(now - time, TIME_CONSTANT) for time in times)
    assert counter.count(now) == pytest.approx(exact, rel=NEGLIGIBLE_SHARE * 1.1)
