"""A hold never ends early, and the way back is a probe and a ramp."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.state.cooldown import Cooldown, CooldownSettings, HealthState

TERMS = CooldownSettings()


def signal(kind: FailureKind, seconds: float | None = None) -> Failure:
    return Failure(kind, FailureScope.ACCOUNT, seconds, "test")


def hold(share: float = 0.0) -> Cooldown:
    return Cooldown(TERMS, lambda: share)


def test_a_rate_limit_holds_for_as_long_as_was_said() -> None:
    one = hold()
    assert one.apply_failure(signal(FailureKind.RATE_LIMIT, 20.0), 100.0, 99.0)
    assert (one.state(119.9), one.traffic_share(119.9)) == (HealthState.COOLING_DOWN, 0.0)
    assert (one.state(120.0), one.traffic_share(120.0)) == (HealthState.PROBING, 1.0)


def test_a_shorter_hold_does_not_end_a_longer_one() -> None:
    one = hold()
    one.apply_failure(signal(FailureKind.RATE_LIMIT, 60.0), 100.0, 99.0)
    assert not one.apply_failure(signal(FailureKind.RATE_LIMIT, 5.0), 101.0, 99.0)
    assert one.until == 160.0
    assert one.apply_failure(signal(FailureKind.QUOTA, 600.0), 102.0, 99.0)
    assert (one.until, one.kind) == (702.0, FailureKind.QUOTA)


def test_a_probe_goes_alone_and_its_success_opens_a_ramp() -> None:
    one = hold()
    one.apply_failure(signal(FailureKind.RATE_LIMIT, 10.0), 100.0, 99.0)
    one.on_pick(111.0)
    assert one.traffic_share(111.1) == 0.0
    # One that had begun before the hold says nothing of it.
    one.on_success(111.2, 99.5)
    assert one.state(111.2) is HealthState.PROBING
    one.on_success(111.5, 111.0)
    assert one.state(111.6) is HealthState.RAMPING_UP
    assert one.traffic_share(111.5) == 0.0
    assert one.traffic_share(112.0) == pytest.approx(0.5)
    assert (one.state(112.5), one.traffic_share(112.5)) == (HealthState.HEALTHY, 1.0)


def test_a_probe_that_tells_nothing_is_given_up() -> None:
    one = hold()
    one.apply_failure(signal(FailureKind.RATE_LIMIT, 10.0), 100.0, 99.0)
    one.on_pick(111.0)
    assert one.traffic_share(111.0 + TERMS.probe_timeout - 0.1) == 0.0
    assert one.traffic_share(111.0 + TERMS.probe_timeout) == 1.0


def test_many_failures_in_one_hold_are_one_step() -> None:
    one = hold()
    for moment in range(10):
        one.apply_failure(signal(FailureKind.OVERLOADED), 100.0 + moment / 100, 99.0)
    first = one.until - 100.0
    assert first == pytest.approx(TERMS.initial, abs=0.1)
    one.on_pick(102.0)
    one.apply_failure(signal(FailureKind.OVERLOADED), 102.1, 102.0)
    assert one.until - 102.1 == pytest.approx(TERMS.initial * TERMS.multiplier)


def test_a_few_transient_failures_hold_nobody() -> None:
    one = hold()
    for moment in range(TERMS.allowed_failures):
        assert not one.apply_failure(signal(FailureKind.TRANSIENT), 100.0 + moment, 99.0)
        assert one.state(100.0 + moment) is HealthState.HEALTHY
    assert one.apply_failure(signal(FailureKind.TRANSIENT), 103.0, 102.0)
    assert one.state(103.0) is HealthState.COOLING_DOWN


def test_what_was_long_ago_is_forgotten() -> None:
    one = hold()
    for moment in range(3):
        one.apply_failure(
            signal(FailureKind.TRANSIENT),
            100.0 + moment * (TERMS.failure_window + 1),
            99.0 + moment * (TERMS.failure_window + 1),
        )
        assert one.state(100.0 + moment * (TERMS.failure_window + 1)) is HealthState.HEALTHY


def test_a_clients_fault_holds_nobody() -> None:
    one = hold()
    assert not one.apply_failure(signal(FailureKind.CLIENT, 60.0), 100.0, 99.0)
    assert one.state(100.0) is HealthState.HEALTHY


def test_only_an_operator_ends_a_quarantine() -> None:
    one = hold()
    one.apply_failure(signal(FailureKind.PERMANENT), 100.0, 99.0)
    one.on_success(200.0, 150.0)
    one.apply_failure(signal(FailureKind.RATE_LIMIT, 1.0), 300.0, 299.0)
    assert (one.state(1e9), one.traffic_share(1e9), one.until) == (HealthState.QUARANTINED, 0.0, math.inf)
    one.reset(400.0)
    assert one.state(400.5) is HealthState.RAMPING_UP
    assert one.state(402.0) is HealthState.HEALTHY


events = st.lists(
    st.tuples(
        st.floats(0, 100),
        st.one_of(
            st.tuples(st.just("failed"), st.sampled_from(FailureKind), st.none() | st.floats(0, 500), st.floats(0, 50)),
            st.tuples(st.just("succeeded"), st.floats(0, 50)),
            st.tuples(st.just("picked")),
        ),
    ),
    max_size=40,
)


@given(events, st.floats(0, 0.999))
def test_a_hold_never_ends_early(told: list[tuple[float, tuple[object, ...]]], luck: float) -> None:
    one, now, promised = hold(luck), 1000.0, -math.inf
    for pause, (what, *rest) in told:
        now += pause
        if what == "failed":
            kind, seconds, ago = rest
            assert isinstance(kind, FailureKind)
            changed = one.apply_failure(signal(kind, seconds), now, now - ago)  # type: ignore[arg-type,operator]
            if changed:
                promised = math.inf if kind is FailureKind.PERMANENT else max(promised, now + (seconds or 0))  # type: ignore[operator]
        elif what == "succeeded":
            one.on_success(now, now - rest[0])  # type: ignore[operator]
        else:
            one.on_pick(now)
        assert 0 <= one.traffic_share(now) <= 1
        if now < promised:
            assert one.traffic_share(now) == 0
            assert one.state(now) in {HealthState.COOLING_DOWN, HealthState.QUARANTINED}


def test_a_guess_does_not_outlive_what_was_said() -> None:
    one = hold()
    one.apply_failure(signal(FailureKind.RATE_LIMIT, 60.0), 100.0, 99.0)
    one.apply_failure(signal(FailureKind.OVERLOADED), 130.0, 99.0)
    assert one.provider_until == 160.0
    assert one.until >= 160.0


def test_a_probe_that_tells_nothing_makes_room_for_another() -> None:
    one = hold()
    one.apply_failure(signal(FailureKind.RATE_LIMIT, 10.0), 100.0, 99.0)
    one.on_pick(111.0)
    assert one.traffic_share(112.0) == 0
    # One that had begun before says nothing of the probe.
    assert not one.on_no_result(112.0, 110.0)
    assert one.on_no_result(112.0, 111.0)
    assert one.traffic_share(112.0) == 1
    assert not one.on_no_result(113.0, 111.0)
