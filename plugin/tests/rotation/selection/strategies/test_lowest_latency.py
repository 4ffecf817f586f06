from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet


def heard(world: World, candidates: CandidateSet, slow: str) -> None:
    for _ in range(60):
        pick = world.pick(candidates)
        world.pool.settle(pick.reservation, SINGLE_REQUEST, latency=8.0 if pick.deployment.spec.id == slow else 0.1)


def test_the_slow_one_is_avoided(world: World) -> None:
    world.made("lowest_latency")
    candidates = world.group(*(world.seat(name) for name in "abcd"))
    heard(world, candidates, "b")
    # Only when both draws fall on it.
    assert world.used(candidates, 400)["b"] < 400 / 16 * 2


def test_it_is_tried_again_after_a_while(world: World) -> None:
    world.made("lowest_latency")
    candidates = world.group(world.seat("a"), world.seat("b"))
    heard(world, candidates, "b")
    assert world.used(candidates, 20)["b"] == 0
    world.now += 300
    found = 0
    for _ in range(40):
        world.now += 0.5
        pick = world.pick(candidates)
        world.pool.settle(pick.reservation, SINGLE_REQUEST, latency=0.1)
        found += pick.deployment.spec.id == "b"
    assert 5 < found < 35


def test_who_does_not_answer_at_all_counts_as_slow(world: World) -> None:
    world.made("lowest_latency")
    candidates = world.group(world.seat("a"), world.seat("b"))
    hanging = world.pick(candidates)
    world.now += 20
    other = next(deployment.spec.id for deployment in candidates.deployments if deployment is not hanging.deployment)
    assert set(world.used(candidates, 20)) == {other}
