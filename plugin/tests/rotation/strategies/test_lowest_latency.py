from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.need import ONE

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.group import Group


def heard(world: World, group: Group, slow: str) -> None:
    for _ in range(60):
        pick = world.pick(group)
        world.pool.settle(pick.lease, ONE, latency=8.0 if pick.place.seat.id == slow else 0.1)


def test_the_slow_one_is_avoided(world: World) -> None:
    world.made("lowest_latency")
    group = world.group(*(world.seat(name) for name in "abcd"))
    heard(world, group, "b")
    # Only when both draws fall on it.
    assert world.used(group, 400)["b"] < 400 / 16 * 2


def test_it_is_tried_again_after_a_while(world: World) -> None:
    world.made("lowest_latency")
    group = world.group(world.seat("a"), world.seat("b"))
    heard(world, group, "b")
    assert world.used(group, 20)["b"] == 0
    world.now += 300
    found = 0
    for _ in range(40):
        world.now += 0.5
        pick = world.pick(group)
        world.pool.settle(pick.lease, ONE, latency=0.1)
        found += pick.place.seat.id == "b"
    assert 5 < found < 35


def test_who_does_not_answer_at_all_counts_as_slow(world: World) -> None:
    world.made("lowest_latency")
    group = world.group(world.seat("a"), world.seat("b"))
    hanging = world.pick(group)
    world.now += 20
    other = next(place.seat.id for place in group.places if place is not hanging.place)
    assert set(world.used(group, 20)) == {other}
