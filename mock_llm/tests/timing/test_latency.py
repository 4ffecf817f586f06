from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.timing.distributions import Constant, Lognormal, Uniform
from evenkeel_mock.timing.latency import MOST_TOKENS, Latency, Plan, Queue, parse

DRAWN = Latency(ttft_ms=Lognormal(200, 0.5), gap_ms=Uniform(10, 30), length=Uniform(1, 40))
KEYS = st.binary(max_size=20)


@given(st.integers(0, 2**63), KEYS)
def test_a_plan_is_a_function_of_seed_and_key(seed: int, key: bytes) -> None:
    assert DRAWN.plan(seed, key) == DRAWN.plan(seed, key)


def test_plans_differ_by_key_and_by_seed() -> None:
    assert len({DRAWN.plan(1, b"a"), DRAWN.plan(1, b"b"), DRAWN.plan(2, b"a")}) == 3


def test_the_order_of_requests_does_not_matter() -> None:
    keys = [b"%d" % number for number in range(200)]
    shuffled = random.Random(1).sample(keys, len(keys))
    plans = {key: DRAWN.plan(5, key) for key in shuffled}
    assert [plans[key] for key in keys] == [DRAWN.plan(5, key) for key in keys]


@given(KEYS, st.integers(1, 60))
def test_a_limit_cuts_the_answer_and_changes_nothing_before(key: bytes, max_tokens: int) -> None:
    whole, cut = DRAWN.plan(1, key), DRAWN.plan(1, key, max_tokens)
    assert cut.tokens == min(whole.tokens, max_tokens)
    assert cut.cut == (whole.tokens > max_tokens)
    assert cut.ttft == whole.ttft
    assert isinstance(cut.gaps, tuple)
    assert isinstance(whole.gaps, tuple)
    assert cut.gaps == whole.gaps[: cut.tokens]


def test_a_gap_for_each_token_none_before_the_first() -> None:
    plan = DRAWN.plan(1, b"key")
    assert isinstance(plan.gaps, tuple)
    assert len(plan.gaps) == plan.tokens
    assert plan.gaps[0] == 0
    assert all(0.01 <= gap <= 0.03 for gap in plan.gaps[1:])
    assert plan.duration(plan.tokens) == pytest.approx(plan.ttft + sum(plan.gaps))


def test_a_longer_answer_has_the_same_gaps_again() -> None:
    plan = DRAWN.plan(1, b"key")
    assert isinstance(plan.gaps, tuple)
    longer = plan.waits(3 * plan.tokens)
    assert isinstance(longer, tuple)
    assert longer[: plan.tokens] == plan.gaps
    assert longer[plan.tokens : 2 * plan.tokens - 1] == plan.gaps[1:]
    assert plan.duration(3 * plan.tokens) == pytest.approx(plan.ttft + sum(longer))
    assert plan.waits(1) == (0.0,)


def test_a_length_without_end_ends() -> None:
    plan = Latency(length=Constant(1e18)).plan(1, b"key")
    assert plan.tokens == MOST_TOKENS


def test_constants_are_not_drawn() -> None:
    latency = Latency(ttft_ms=Constant(250), gap_ms=Constant(20), length=Constant(11))
    plan = latency.plan(1, b"key")
    assert plan == Plan(0.25, 0.02, 11, cut=False)
    assert plan == latency.plan(2, b"other")
    assert [plan.duration(count) for count in (0, 1, 11)] == pytest.approx([0.25, 0.25, 0.45])


def test_a_cached_prompt_shortens_the_first_wait_only() -> None:
    latency = Latency(ttft_ms=Constant(100), gap_ms=Constant(20), cache_saving=0.5)
    plan, half, full = (latency.plan(1, b"", cached_share=share) for share in (0, 0.5, 1))
    assert (plan.ttft, half.ttft, full.ttft) == pytest.approx((0.1, 0.075, 0.05))
    assert plan[1:] == half[1:] == full[1:]


def test_an_answer_has_a_token_at_least() -> None:
    assert Latency(length=Constant(0)).plan(1, b"").tokens == 1
    assert Latency(length=Constant(0), gap_ms=Uniform(1, 2)).plan(1, b"").gaps == (0.0,)


def test_settings_are_read() -> None:
    latency = parse({"ttft_ms": "lognormal(median=200,sigma=0.5)", "gap_ms": 20, "length": 64, "servers": 4})
    assert latency == Latency(Lognormal(200, 0.5), Constant(20), Constant(64), servers=4)
    assert parse({}) == Latency()


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"tfft_ms": 1}, "ttft_ms"),
        ({"cache_saving": 2}, "from 0 to 1"),
        ({"servers": 1.5}, "whole"),
        ({"ttft_ms": "lognormal(median=1)"}, "latency: ttft_ms"),
        ([], "expected a mapping"),
    ],
)
def test_settings_that_cannot_be_are_refused(written: object, told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        parse(written)
    assert told in str(refused.value)


def test_a_line_in_front_of_two_servers() -> None:
    queue = Queue(2)
    assert [queue.enter(10, 4), queue.enter(11, 4), queue.enter(12, 4), queue.enter(12, 1)] == [0, 0, 2, 3]
    assert queue.enter(100, 1) == 0


def test_without_a_number_of_servers_nobody_waits() -> None:
    queue = Queue(0)
    assert [queue.enter(1, 1000) for _ in range(5)] == [0] * 5


@settings(max_examples=60)
@given(st.integers(1, 4), st.lists(st.tuples(st.integers(0, 10), st.integers(0, 20)), max_size=30))
def test_no_server_is_taken_twice_and_none_is_idle_while_somebody_waits(
    servers: int, arrivals: list[tuple[int, int]]
) -> None:
    queue = Queue(servers)
    now = 0
    begun: list[tuple[float, float]] = []
    for later, duration in arrivals:
        now += later
        wait = queue.enter(now, duration)
        start = now + wait
        at_start = sum(since <= start < until for since, until in begun)
        assert at_start < servers
        if wait:
            # Until then they were all taken.
            assert sum(since < start <= until for since, until in begun) >= servers
            # First come, first served.
            assert start >= max(since for since, _ in begun)
        begun.append((start, start + duration))
