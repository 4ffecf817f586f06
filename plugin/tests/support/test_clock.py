"""A time of day that never goes backwards."""

from __future__ import annotations

from hypothesis import given, strategies as st

from litellm_evenkeel.support.clock import SLACK_SECONDS, MonotonicWallClock

steps = st.lists(st.tuples(st.floats(0, 1e4), st.floats(-1e5, 1e5)), max_size=20)


@given(steps)
def test_it_never_goes_back_by_more_than_a_slewed_clock_does(told: list[tuple[float, float]]) -> None:
    wall, monotonic = [1.8e9], [5.0]
    steady = MonotonicWallClock(lambda: wall[0], lambda: monotonic[0])
    before = steady()
    assert before == wall[0]
    for passed, stepped in told:
        wall[0] += passed + stepped
        monotonic[0] += passed
        after = steady()
        assert after >= before - SLACK_SECONDS - 1e-3
        assert after >= wall[0] - 1e-3
        before = after


def test_a_clock_that_is_set_back_and_right_again_is_told_right_again() -> None:
    wall, monotonic = [1000.0], [0.0]
    steady = MonotonicWallClock(lambda: wall[0], lambda: monotonic[0])
    wall[0] -= 3600.0
    assert steady() == 1000.0
    wall[0], monotonic[0] = wall[0] + 10.0, 10.0
    assert steady() == 1010.0
    wall[0] += 3600.0
    assert steady() == wall[0] == 1010.0
    wall[0] += 7200.0
    assert steady() == wall[0]
