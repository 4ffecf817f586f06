"""Properties of all strategies."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.request import PickRequest
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.strategies import STRATEGIES
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet

every = pytest.mark.parametrize("strategy", STRATEGIES)


def test_each_that_may_be_named_is_there() -> None:
    assert set(STRATEGIES) == set(StrategyName)


@every
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seats=st.lists(st.tuples(st.floats(0.1, 20), st.integers(1, 3)), min_size=1, max_size=50),
    looked=st.lists(st.integers(0, 60), max_size=8),
)
def test_each_candidate_of_a_tier_is_yielded_once(
    strategy: str, seats: list[tuple[float, int]], looked: list[int]
) -> None:
    now = 1000.0
    pool = AccountPool(
        RotationSettings(strategy=StrategyName(strategy)), clock=lambda: now, random=random.Random(3).random
    )
    candidates = pool.candidate_set(
        "g", [DeploymentSpec(str(each), str(each), "m", weight, level) for each, (weight, level) in enumerate(seats)]
    )
    assert sum(len(level.positions) for level in candidates.snapshot.levels) == len(seats)
    for far in looked:
        for level in candidates.snapshot.levels:
            # The selector may take any candidate, up to the last one.
            order = candidates.strategy.rank(level, PickRequest(), now, random.random)
            seen = [position for _, position in zip(range(far), order, strict=False)]
            order.close() if hasattr(order, "close") else None
            if seen:
                candidates.strategy.on_pick(seen[-1])
            assert sorted(candidates.strategy.rank(level, PickRequest(), now, random.random)) == list(level.positions)


@every
def test_nothing_that_is_shut_is_chosen(strategy: str, world: World) -> None:
    world.made(strategy)
    candidates = world.group(*(world.seat(name) for name in "abcd"))
    world.hold(candidates, "b")
    world.hold(candidates, "c", kind=FailureKind.PERMANENT)
    assert all(candidates.snapshot.weights[position] == 0 for position in (1, 2)) or candidates.dirty
    assert set(world.used(candidates, 60)) <= {"a", "d"}


@every
def test_who_opens_again_is_chosen_again(strategy: str, world: World) -> None:
    world.made(strategy)
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 10.0)
    assert set(world.used(candidates, 20)) == {"b"}
    world.now += 15
    assert world.used(candidates, 20)["a"] > 0


@every
def test_a_tier_is_left_only_when_nothing_of_it_is_open(strategy: str, world: World) -> None:
    world.made(strategy)
    candidates = world.group(world.seat("spare", priority=2), world.seat("a"), world.seat("b"))
    assert "spare" not in world.used(candidates, 40)
    world.hold(candidates, "a")
    assert set(world.used(candidates, 20)) == {"b"}
    world.hold(candidates, "b")
    assert set(world.used(candidates, 5)) == {"spare"}


@every
def test_of_two_the_one_with_the_better_score_is_chosen(strategy: str, world: World) -> None:
    world.made(strategy)
    limits = {"rpm": 500, "concurrent": 100}
    candidates = world.group(world.seat("a", limits, weight=2), world.seat("b", limits, weight=3))
    for step in range(60):
        scores = scored(candidates, world.now)
        pick = world.pick(candidates)
        assert scores[pick.position] == max(scores)
        world.now += 0.3
        if step % 3:
            world.pool.settle(pick.reservation, pick.reservation.usage, latency=0.2 + 0.1 * pick.position)


def scored(candidates: CandidateSet, now: float) -> list[float]:
    return [
        candidates.strategy.score(each, PickRequest(), now) for each, deployment in enumerate(candidates.deployments)
    ]


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "fill_first"])
@pytest.mark.parametrize("number", [2, 3, 8, 40])
def test_equals_get_equal_parts(strategy: str, number: int, world: World) -> None:
    world.made(strategy)
    candidates = world.group(*(world.seat(str(each)) for each in range(number)))
    used = world.used(candidates, 100 * number)
    assert all(60 <= used[str(each)] <= 140 for each in range(number))


@pytest.mark.parametrize("strategy", ["headroom", "weighted", "least_busy", "lowest_latency"])
@pytest.mark.parametrize("number", [3, 40])
def test_who_is_heavier_gets_more_where_nothing_else_tells_them_apart(strategy: str, number: int, world: World) -> None:
    world.made(strategy)
    candidates = world.group(world.seat("heavy", weight=5), *(world.seat(str(each)) for each in range(number - 1)))
    used = world.used(candidates, 100 * number)
    assert used["heavy"] > 2 * max(used[str(each)] for each in range(number - 1))
