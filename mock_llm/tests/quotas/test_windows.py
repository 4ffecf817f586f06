from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.parsing.durations import DAY, HOUR, MINUTE, NS
from evenkeel_mock.quotas.limits import UNLIMITED, AccountLimits, Window
from evenkeel_mock.quotas.reasons import Reason, Rejection
from evenkeel_mock.quotas.windows import (
    CONCURRENCY_WAIT_NS,
    FIRST,
    SPENT,
    UNUSED,
    State,
    admit,
    balance_nano,
    current,
    settle,
    uses,
    words,
)

NOW = 1_800_000_000 * NS
RPM = Window("rpm", MINUTE * NS, 3)
TPM = Window("tpm", MINUTE * NS, 1000, counts_tokens=True)
FIVE_HOURS = Window("5h", 5 * HOUR * NS, 5)
DAILY = Window("daily", DAY * NS, 2000, counts_tokens=True)


def limited(*windows: Window) -> AccountLimits:
    return AccountLimits(windows=windows)


def admitted(limits: AccountLimits, *requests: tuple[float, int], state: State = UNUSED) -> State:
    for after, tokens in requests:
        rejection, state = admit(state, limits, NOW + round(after * NS), tokens)
        assert rejection is None
    return state


def refused(state: State, limits: AccountLimits, after: float, tokens: int, in_flight: int = 0) -> Rejection:
    rejection, unchanged = admit(state, limits, NOW + round(after * NS), tokens, in_flight)
    assert rejection is not None
    assert unchanged == current(state, limits)
    return rejection


def test_an_unlimited_account_keeps_no_count() -> None:
    assert admit(UNUSED, UNLIMITED, NOW, 10**9, 10**6) == (None, current(UNUSED, UNLIMITED))


def test_the_minute_begins_with_the_first_request() -> None:
    limits = limited(RPM)
    state = admitted(limits, (0, 1), (50, 1), (59, 1))
    rejection = refused(state, limits, 59.5, 1)
    assert rejection == Rejection(Reason.REQUESTS, wait_ns=NS // 2, window="rpm", limit=3, used=3, requested=1)
    # A whole new minute, from the request that opens it.
    state = admitted(limits, (60, 1), (61, 1), (62, 1), state=state)
    assert refused(state, limits, 119.75, 1).wait_ns == NS // 4


def test_tokens_are_reserved_and_settled() -> None:
    limits = limited(TPM)
    state = admitted(limits, (0, 900))
    rejection = refused(state, limits, 15, 101)
    assert rejection == Rejection(Reason.TOKENS, wait_ns=45 * NS, window="tpm", limit=1000, used=900, requested=101)
    state = settle(state, limits, NOW, 900, 300)
    state = admitted(limits, (20, 700), state=state)
    assert uses(state, limits, NOW + 20 * NS)[0].remaining == 0


def test_a_closed_window_is_owed_nothing_back() -> None:
    limits = limited(TPM)
    first = admitted(limits, (0, 900))
    second = admitted(limits, (61, 500), state=first)
    assert settle(second, limits, NOW, 900, 0) == second
    assert uses(settle(second, limits, NOW + 61 * NS, 500, 100), limits, NOW + 61 * NS)[0].used == 100


def test_more_than_was_estimated_counts_as_well() -> None:
    limits = limited(TPM)
    state = settle(admitted(limits, (0, 900)), limits, NOW, 900, 1500)
    (use,) = uses(state, limits, NOW)
    assert (use.used, use.remaining) == (1500, 0)


def test_a_request_larger_than_its_window_never_fits() -> None:
    rejection = refused(UNUSED, limited(RPM, TPM), 0, 1001)
    assert rejection == Rejection(Reason.TOO_LARGE, wait_ns=None, window="tpm", limit=1000, used=0, requested=1001)


def test_of_two_full_windows_the_later_end_is_told() -> None:
    limits = limited(replace_limit(RPM, 5), FIVE_HOURS)
    state = admitted(limits, *[(second, 1) for second in range(5)])
    rejection = refused(state, limits, 10, 1)
    assert (rejection.reason, rejection.window, rejection.wait_ns) == (Reason.QUOTA, "5h", 5 * HOUR * NS - 10 * NS)


def test_a_quota_about_to_end_does_not_hide_a_rate() -> None:
    limits = limited(Window("short", 70 * NS, 4), Window("rpm", MINUTE * NS, 1))
    state = admitted(limits, (0, 1), (60, 1))
    state = (*state[: FIRST + 1], 4, *state[FIRST + 2 :])
    assert refused(state, limits, 65, 1) == Rejection(
        Reason.REQUESTS, wait_ns=55 * NS, window="rpm", limit=1, used=1, requested=1
    )


def test_requests_in_flight_are_limited() -> None:
    limits = AccountLimits(concurrency=2)
    assert admit(UNUSED, limits, NOW, 1, in_flight=1)[0] is None
    rejection = refused(UNUSED, limits, 0, 1, in_flight=2)
    assert (rejection.reason, rejection.limit, rejection.used) == (Reason.CONCURRENCY, 2, 2)
    assert rejection.wait_ns == CONCURRENCY_WAIT_NS


def test_a_request_refused_for_concurrency_uses_nothing() -> None:
    limits = AccountLimits(windows=(RPM,), concurrency=1)
    state = admitted(limits, (0, 1))
    refused(state, limits, 1, 1, in_flight=1)
    assert uses(state, limits, NOW)[0].used == 1


def test_a_balance_is_spent_and_never_overdrawn() -> None:
    limits = AccountLimits(balance_nano=1000, price_nano=2)
    state = admitted(limits, (0, 300))
    assert balance_nano(state, limits) == 400
    rejection = refused(state, limits, 1, 201)
    assert (rejection.reason, rejection.limit, rejection.used, rejection.wait_ns) == (Reason.BALANCE, 1000, 600, None)
    state = settle(state, limits, NOW, 300, 100)
    assert balance_nano(state, limits) == 800
    state = admitted(limits, (2, 400), state=state)
    # What costs nothing is refused as well once there is nothing left.
    assert refused(state, limits, 3, 0).reason is Reason.BALANCE
    assert balance_nano(UNUSED, UNLIMITED) is None


def test_no_state_is_an_unused_one() -> None:
    limits = limited(RPM)
    assert admit((), limits, NOW, 1) == admit(UNUSED, limits, NOW, 1)
    assert uses((), limits, NOW) == uses(UNUSED, limits, NOW)


def test_other_limits_keep_the_counts_and_other_windows_do_not() -> None:
    limits = AccountLimits(windows=(RPM, TPM), balance_nano=10**9, price_nano=1)
    state = admitted(limits, (0, 100), (1, 100))
    more = replace(limits, windows=(replace_limit(RPM, 100), TPM))
    assert [use.used for use in uses(state, more, NOW + NS)] == [2, 200]
    other = replace(limits, windows=(TPM, RPM))
    assert [use.used for use in uses(state, other, NOW + NS)] == [0, 0]
    _, moved = admit(state, other, NOW + NS, 50)
    assert [use.used for use in uses(moved, other, NOW + NS)] == [50, 1]
    assert moved[SPENT] == 250
    # What was let in under the old windows is not settled against the new ones.
    assert settle(moved, limits, NOW, 100, 0)[FIRST:] == moved[FIRST:]


def test_a_state_may_lie_in_memory() -> None:
    limits = AccountLimits(windows=(RPM, TPM, FIVE_HOURS, DAILY), balance_nano=10**9, price_nano=1)
    # Zeros are an unused state.
    view = memoryview(bytearray(8 * words(limits))).cast("q")
    assert current(view, limits) == current(UNUSED, limits)
    state = admitted(limits, (0, 100))
    for at, number in enumerate(state):
        view[at] = number
    assert admit(view, limits, NOW + 1, 7) == admit(state, limits, NOW + 1, 7)
    assert settle(view, limits, NOW, 100, 7) == settle(state, limits, NOW, 100, 7)


def replace_limit(window: Window, limit: int) -> Window:
    return window._replace(limit=limit)


WINDOWS = st.builds(
    Window, name=st.sampled_from(["rpm", "5h", "x"]), length_ns=st.integers(1, 60), limit=st.integers(1, 12),
    counts_tokens=st.booleans(),
)  # fmt: skip
LIMITS = st.builds(
    AccountLimits,
    windows=st.lists(WINDOWS, max_size=4).map(tuple),
    balance_nano=st.none() | st.integers(0, 300),
    price_nano=st.integers(0, 3),
)
REQUESTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 14), st.integers(0, 14)), max_size=60)


@given(LIMITS, REQUESTS)
def test_no_window_ever_holds_more_than_its_limit(limits: AccountLimits, requests: list[tuple[int, int, int]]) -> None:
    state: State = UNUSED
    now = NOW
    held: list[Counter[int]] = [Counter() for _ in limits.windows]
    spent = 0
    for later, tokens, _ in requests:
        now += later
        rejection, state = admit(state, limits, now, tokens)
        if rejection is not None:
            continue
        spent += tokens * limits.price_nano
        for number, window in enumerate(limits.windows):
            opened = state[FIRST + 2 * number]
            assert opened <= now < opened + window.length_ns
            held[number][opened] += tokens if window.counts_tokens else 1
    for number, window in enumerate(limits.windows):
        assert all(amount <= window.limit for amount in held[number].values())
        openings = sorted(held[number])
        assert all(after - before >= window.length_ns for before, after in pairwise(openings))
    assert limits.balance_nano is None or spent <= limits.balance_nano


@given(LIMITS, REQUESTS)
def test_a_refused_request_is_let_in_when_it_was_told_to_and_not_before(
    limits: AccountLimits, requests: list[tuple[int, int, int]]
) -> None:
    state: State = UNUSED
    now = NOW
    for later, tokens, _ in requests:
        now += later
        rejection, state = admit(state, limits, now, tokens)
        if rejection is None:
            continue
        if rejection.wait_ns is None:
            assert admit(state, limits, now + 1000, tokens)[0] is not None
            continue
        assert rejection.wait_ns > 0
        assert admit(state, limits, now + rejection.wait_ns, tokens)[0] is None
        assert admit(state, limits, now + rejection.wait_ns - 1, tokens)[0] is not None


@given(LIMITS, REQUESTS)
def test_what_is_refused_would_not_fit(limits: AccountLimits, requests: list[tuple[int, int, int]]) -> None:
    state: State = UNUSED
    now = NOW
    for later, tokens, _ in requests:
        now += later
        before = uses(state, limits, now)
        left = balance_nano(state, limits)
        rejection, state = admit(state, limits, now, tokens)
        fits = all(use.remaining >= (tokens if use.window.counts_tokens else 1) for use in before)
        affordable = left is None or (left > 0 and left >= tokens * limits.price_nano)
        assert (rejection is None) == (fits and affordable)


@given(LIMITS, REQUESTS)
def test_what_is_settled_is_what_was_used(limits: AccountLimits, requests: list[tuple[int, int, int]]) -> None:
    state: State = UNUSED
    now = NOW
    running: list[tuple[int, int, int]] = []
    finished: list[tuple[int, int]] = []
    for number, (later, tokens, actual) in enumerate(requests):
        now += later
        rejection, state = admit(state, limits, now, tokens)
        if rejection is None:
            running.append((now, tokens, min(actual, tokens)))
        if running and number % 3 == 2:
            when, estimated, took = running.pop(0)
            state = settle(state, limits, when, estimated, took)
            finished.append((when, took))
        assert all(amount >= 0 for amount in state)
    for when, estimated, took in running:
        state = settle(state, limits, when, estimated, took)
        finished.append((when, took))
    for use in uses(state, limits, now):
        if use.window.counts_tokens and use.used:
            opened = use.ends_ns - use.window.length_ns
            assert use.used == sum(took for when, took in finished if when >= opened)
    if limits.balance_nano is not None:
        assert state[SPENT] == sum(took for _, took in finished) * limits.price_nano


@pytest.mark.parametrize("in_flight", [0, 3])
def test_a_clock_that_steps_back_opens_no_second_window(in_flight: int) -> None:
    limits = limited(RPM)
    state = admitted(limits, (0, 1), (1, 1), (2, 1))
    assert refused(state, limits, -5, 1, in_flight).wait_ns == 65 * NS
