"""When a server is left alone, and when it is tried again."""

from __future__ import annotations

from litellm_evenkeel.rotation.affinity.circuit_breaker import (
    FAILURE_THRESHOLD,
    FIRST_PAUSE_SECONDS,
    MAX_PAUSE_SECONDS,
    ProbedCircuitBreaker,
)


def closed() -> ProbedCircuitBreaker:
    breaker = ProbedCircuitBreaker()
    breaker.record_probe(0.0, has_answered=True)
    return breaker


def test_nobody_waits_for_a_server_that_has_never_answered() -> None:
    breaker = ProbedCircuitBreaker()
    assert breaker.is_open
    assert breaker.probe_at < 0
    breaker.record_success()
    assert breaker.is_open
    breaker.record_probe(0.0, has_answered=True)
    assert not breaker.is_open


def test_failures_in_a_row_open_it_and_a_success_between_does_not() -> None:
    breaker = closed()
    for _ in range(FAILURE_THRESHOLD - 1):
        breaker.record_failure(10.0)
    breaker.record_success()
    for _ in range(FAILURE_THRESHOLD - 1):
        breaker.record_failure(11.0)
    assert not breaker.is_open
    breaker.record_failure(12.0)
    assert breaker.is_open
    assert breaker.probe_at == 12.0 + FIRST_PAUSE_SECONDS


def test_those_under_way_when_it_opened_change_nothing() -> None:
    breaker = closed()
    for second in range(100):
        breaker.record_failure(float(second))
    breaker.record_success()
    assert breaker.is_open
    assert breaker.probe_at == FAILURE_THRESHOLD - 1 + FIRST_PAUSE_SECONDS


def test_probes_become_rarer_up_to_a_point() -> None:
    breaker, pauses = closed(), []
    for _ in range(FAILURE_THRESHOLD):
        breaker.record_failure(0.0)
    for _ in range(10):
        now = breaker.probe_at
        breaker.record_probe(now, has_answered=False)
        pauses.append(breaker.probe_at - now)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (2 * FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
