"""A hold never ends early, and the way back is a probe and a ramp."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.holds import Hold, State, Terms
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.signals import Signal

TERMS = Terms()


def signal(kind: Kind, seconds: float | None = None) -> Signal:
    return Signal(kind, Scope.ACCOUNT, seconds, "test")


def hold(share: float = 0.0) -> Hold:
    return Hold(TERMS, lambda: share)


def test_a_rate_limit_holds_for_as_long_as_was_said() -> None:
    one = hold()
    assert one.failed(signal(Kind.RATE_LIMIT, 20.0), 100.0, 99.0)
    assert (one.state(119.9), one.share(119.9)) == (State.HELD, 0.0)
    assert (one.state(120.0), one.share(120.0)) == (State.PROBING, 1.0)


def test_a_shorter_hold_does_not_end_a_longer_one() -> None:
    one = hold()
    one.failed(signal(Kind.RATE_LIMIT, 60.0), 100.0, 99.0)
    assert not one.failed(signal(Kind.RATE_LIMIT, 5.0), 101.0, 99.0)
    assert one.until == 160.0
    assert one.failed(signal(Kind.QUOTA, 600.0), 102.0, 99.0)
    assert (one.until, one.kind) == (702.0, Kind.QUOTA)


def test_a_probe_goes_alone_and_its_success_opens_a_ramp() -> None:
    one = hold()
    one.failed(signal(Kind.RATE_LIMIT, 10.0), 100.0, 99.0)
    one.picked(111.0)
    assert one.share(111.1) == 0.0
    # One that had begun before the hold says nothing of it.
    one.succeeded(111.2, 99.5)
    assert one.state(111.2) is State.PROBING
    one.succeeded(111.5, 111.0)
    assert one.state(111.6) is State.RAMPING
    assert one.share(111.5) == 0.0
    assert one.share(112.0) == pytest.approx(0.5)
    assert (one.state(112.5), one.share(112.5)) == (State.OPEN, 1.0)


def test_a_probe_that_tells_nothing_is_given_up() -> None:
    one = hold()
    one.failed(signal(Kind.RATE_LIMIT, 10.0), 100.0, 99.0)
    one.picked(111.0)
    assert one.share(111.0 + TERMS.probe - 0.1) == 0.0
    assert one.share(111.0 + TERMS.probe) == 1.0


def test_many_failures_in_one_hold_are_one_step() -> None:
    one = hold()
    for moment in range(10):
        one.failed(signal(Kind.OVERLOADED), 100.0 + moment / 100, 99.0)
    first = one.until - 100.0
    assert first == pytest.approx(TERMS.first, abs=0.1)
    one.picked(102.0)
    one.failed(signal(Kind.OVERLOADED), 102.1, 102.0)
    assert one.until - 102.1 == pytest.approx(TERMS.first * TERMS.factor)


def test_a_few_transient_failures_hold_nobody() -> None:
    one = hold()
    for moment in range(TERMS.tolerated):
        assert not one.failed(signal(Kind.TRANSIENT), 100.0 + moment, 99.0)
        assert one.state(100.0 + moment) is State.OPEN
    assert one.failed(signal(Kind.TRANSIENT), 103.0, 102.0)
    assert one.state(103.0) is State.HELD


def test_what_was_long_ago_is_forgotten() -> None:
    one = hold()
    for moment in range(3):
        one.failed(signal(Kind.TRANSIENT), 100.0 + moment * (TERMS.forgives + 1), 99.0 + moment * (TERMS.forgives + 1))
        assert one.state(100.0 + moment * (TERMS.forgives + 1)) is State.OPEN


def test_a_clients_fault_holds_nobody() -> None:
    one = hold()
    assert not one.failed(signal(Kind.CLIENT, 60.0), 100.0, 99.0)
    assert one.state(100.0) is State.OPEN


def test_only_an_operator_ends_a_quarantine() -> None:
    one = hold()
    one.failed(signal(Kind.PERMANENT), 100.0, 99.0)
    one.succeeded(200.0, 150.0)
    one.failed(signal(Kind.RATE_LIMIT, 1.0), 300.0, 299.0)
    assert (one.state(1e9), one.share(1e9), one.until) == (State.QUARANTINED, 0.0, math.inf)
    one.release(400.0)
    assert one.state(400.5) is State.RAMPING
    assert one.state(402.0) is State.OPEN


events = st.lists(
    st.tuples(
        st.floats(0, 100),
        st.one_of(
            st.tuples(st.just("failed"), st.sampled_from(Kind), st.none() | st.floats(0, 500), st.floats(0, 50)),
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
            assert isinstance(kind, Kind)
            changed = one.failed(signal(kind, seconds), now, now - ago)  # type: ignore[arg-type,operator]
            if changed:
                promised = math.inf if kind is Kind.PERMANENT else max(promised, now + (seconds or 0))  # type: ignore[operator]
        elif what == "succeeded":
            one.succeeded(now, now - rest[0])  # type: ignore[operator]
        else:
            one.picked(now)
        assert 0 <= one.share(now) <= 1
        if now < promised:
            assert one.share(now) == 0
            assert one.state(now) in {State.HELD, State.QUARANTINED}


def test_a_guess_does_not_outlive_what_was_said() -> None:
    one = hold()
    one.failed(signal(Kind.RATE_LIMIT, 60.0), 100.0, 99.0)
    one.failed(signal(Kind.OVERLOADED), 130.0, 99.0)
    assert one.told_until == 160.0
    assert one.until >= 160.0


def test_a_probe_that_tells_nothing_makes_room_for_another() -> None:
    one = hold()
    one.failed(signal(Kind.RATE_LIMIT, 10.0), 100.0, 99.0)
    one.picked(111.0)
    assert one.share(112.0) == 0
    # One that had begun before says nothing of the probe.
    assert not one.gave_up(112.0, 110.0)
    assert one.gave_up(112.0, 111.0)
    assert one.share(112.0) == 1
    assert not one.gave_up(113.0, 111.0)
