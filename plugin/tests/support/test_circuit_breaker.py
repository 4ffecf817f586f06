"""When a server is left alone, and for how long."""

from __future__ import annotations

from hypothesis import given, strategies as st

from litellm_evenkeel.support.circuit_breaker import (
    FAILURE_THRESHOLD,
    FIRST_PAUSE_SECONDS,
    JITTER,
    MAX_PAUSE_SECONDS,
    BreakerState,
    CircuitBreaker,
)


def failed(times: int, random: float = 0.0, longest: float = MAX_PAUSE_SECONDS) -> tuple[CircuitBreaker, list[float]]:
    breaker, now, pauses = CircuitBreaker(lambda: random, max_pause=longest), 100.0, []
    for _ in range(times):
        breaker.record_failure(now)
        pauses.append(breaker.retry_at - now)
        now = breaker.retry_at
    return breaker, pauses


def test_it_is_asked_until_it_has_failed_in_a_row() -> None:
    breaker, _ = failed(FAILURE_THRESHOLD - 1)
    assert breaker.state(100.0) is BreakerState.CLOSED
    breaker.record_success(100.0)
    for _ in range(FAILURE_THRESHOLD):
        assert not breaker.is_open
        breaker.record_failure(200.0)
    assert breaker.state(200.0) is BreakerState.OPEN
    assert breaker.state(breaker.retry_at) is BreakerState.HALF_OPEN
    breaker.record_success(breaker.retry_at)
    assert breaker.state(200.0) is BreakerState.CLOSED


def test_calls_that_began_before_it_opened_change_nothing() -> None:
    breaker, _ = failed(FAILURE_THRESHOLD)
    retry_at = breaker.retry_at
    breaker.record_failure(retry_at - 0.1)
    assert breaker.retry_at == retry_at
    breaker.record_success(retry_at - 0.1)
    assert breaker.is_open


def test_one_that_starts_open_is_closed_by_its_first_probe() -> None:
    breaker = CircuitBreaker(lambda: 0.0, failure_threshold=3, starts_open=True)
    assert breaker.state(100.0) is BreakerState.HALF_OPEN
    breaker.record_success(100.0)
    assert breaker.state(100.0) is BreakerState.CLOSED
    for _ in range(3):
        assert not breaker.is_open
        breaker.record_failure(200.0)
    assert breaker.state(200.0) is BreakerState.OPEN


def test_it_is_left_alone_for_a_second_and_then_twice_as_long_each_time() -> None:
    _, pauses = failed(FAILURE_THRESHOLD + 8)
    assert [round(one, 6) for one in pauses[FAILURE_THRESHOLD - 1 :]] == [1, 2, 4, 8, 16, 30, 30, 30, 30]
    # All before it together are over before it is left alone for the first time.
    assert sum(pauses[: FAILURE_THRESHOLD - 1]) < FIRST_PAUSE_SECONDS


@given(st.integers(1, 2000), st.floats(0, 1), st.floats(0.5, 100))
def test_no_pause_is_longer_than_may_be_and_none_is_nothing(times: int, random: float, longest: float) -> None:
    _, pauses = failed(times, random, longest)
    # As large numbers are subtracted.
    assert 0 < pauses[-1] <= min(longest, MAX_PAUSE_SECONDS) + 1e-6
    assert times < 50 or pauses[-1] >= min(longest, MAX_PAUSE_SECONDS) * (1 - JITTER) - 1e-6
