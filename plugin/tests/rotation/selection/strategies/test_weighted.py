from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.request import PickRequest
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName

if TYPE_CHECKING:
    from conftest import World

TERMS = RotationSettings(strategy=StrategyName.WEIGHTED)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(0, 200))
def test_at_any_moment_each_has_had_its_part(weights: list[int], number: int) -> None:
    pool = AccountPool(TERMS, clock=lambda: 1.0, random=random.Random(1).random)
    candidates = pool.candidate_set(
        "g", [DeploymentSpec(str(each), str(each), "m", weight) for each, weight in enumerate(weights)]
    )
    counts = [0] * len(weights)
    for _ in range(number):
        pick = pool.pick(candidates, PickRequest())
        counts[pick.position] += 1
    for count, weight in zip(counts, weights, strict=True):
        share = weight / sum(weights)
        assert abs(count - number * share) <= 1 + len(weights) * share + 1e-6


def runs(order: list[str], name: str) -> int:
    longest = run = 0
    for one in order:
        run = run + 1 if one == name else 0
        longest = max(longest, run)
    return longest


def test_who_has_half_of_it_does_not_get_it_at_once(world: World) -> None:
    world.made("weighted")
    candidates = world.group(*(world.seat(name) for name in "abcd"), world.seat("heavy", weight=4))
    order = [world.pick(candidates).deployment.spec.id for _ in range(80)]
    assert order.count("heavy") == pytest.approx(40, abs=1)
    assert runs(order, "heavy") <= 2


def test_who_comes_back_makes_up_for_nothing(world: World) -> None:
    world.made("weighted")
    candidates = world.group(world.seat("a"), world.seat("b"), world.seat("c"))
    world.hold(candidates, "a", 10.0)
    world.used(candidates, 100)
    world.now += 15
    world.used(candidates, 3)
    world.now += 5
    order = [next(iter(world.used(candidates, 1))) for _ in range(30)]
    assert order.count("a") == pytest.approx(10, abs=2)
    assert runs(order, "a") <= 2


def test_a_session_that_is_out_of_turn_costs_its_account_a_turn(world: World) -> None:
    world.made("weighted")
    candidates = world.group(world.seat("a"), world.seat("b"))
    for _ in range(10):
        world.pick(candidates, PickRequest(preferred_account="a"))
    assert world.used(candidates, 10)["b"] == 10
