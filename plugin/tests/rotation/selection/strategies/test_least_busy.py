from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import World


def test_what_is_under_way_is_spread_evenly(world: World) -> None:
    world.made("least_busy")
    candidates = world.group(*(world.seat(name) for name in "abcd"))
    open_leases = [world.pick(candidates).reservation for _ in range(42)]
    assert sorted(deployment.in_flight for deployment in candidates.deployments) == [10, 10, 11, 11]
    for reservation in open_leases:
        if reservation.deployment.spec.id == "b":
            world.pool.release(reservation)
    assert {world.pick(candidates).deployment.spec.id for _ in range(9)} == {"b"}


def test_a_heavier_account_bears_more(world: World) -> None:
    world.made("least_busy")
    candidates = world.group(world.seat("a"), world.seat("b", weight=3))
    for _ in range(40):
        world.pick(candidates)
    assert candidates.deployments[1].in_flight == pytest.approx(30, abs=1)


def test_of_many_the_busiest_are_passed_over(world: World) -> None:
    world.made("least_busy")
    candidates = world.group(*(world.seat(str(number)) for number in range(200)))
    for _ in range(2000):
        world.pick(candidates)
    assert max(deployment.in_flight for deployment in candidates.deployments) <= 14
