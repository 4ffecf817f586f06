"""When a server is left alone, and when it is tried again."""

from __future__ import annotations

from litellm_evenkeel.rotation.affinity.circuit_breaker import FAILURES, FIRST_PAUSE, LONGEST_PAUSE, Breaker


def closed() -> Breaker:
    breaker = Breaker()
    breaker.probed(0.0, has_answered=True)
    return breaker


def test_nobody_waits_for_a_server_that_has_never_answered() -> None:
    breaker = Breaker()
    assert breaker.is_open
    assert breaker.probe_at < 0
    breaker.succeeded()
    assert breaker.is_open
    breaker.probed(0.0, has_answered=True)
    assert not breaker.is_open


def test_failures_in_a_row_open_it_and_a_success_between_does_not() -> None:
    breaker = closed()
    for _ in range(FAILURES - 1):
        breaker.failed(10.0)
    breaker.succeeded()
    for _ in range(FAILURES - 1):
        breaker.failed(11.0)
    assert not breaker.is_open
    breaker.failed(12.0)
    assert breaker.is_open
    assert breaker.probe_at == 12.0 + FIRST_PAUSE


def test_those_under_way_when_it_opened_change_nothing() -> None:
    breaker = closed()
    for second in range(100):
        breaker.failed(float(second))
    breaker.succeeded()
    assert breaker.is_open
    assert breaker.probe_at == FAILURES - 1 + FIRST_PAUSE


def test_probes_become_rarer_up_to_a_point() -> None:
    breaker, pauses = closed(), []
    for _ in range(FAILURES):
        breaker.failed(0.0)
    for _ in range(10):
        now = breaker.probe_at
        breaker.probed(now, has_answered=False)
        pauses.append(breaker.probe_at - now)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (2 * FIRST_PAUSE, LONGEST_PAUSE)
