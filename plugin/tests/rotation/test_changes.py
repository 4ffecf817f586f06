"""Deployments, limits and candidates that become others while they are in use."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation import idle, sides
from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.held import Held
from litellm_evenkeel.rotation.kinds import Kind
from litellm_evenkeel.rotation.limit_headers import readings
from litellm_evenkeel.rotation.limits import DAY, FREE, Limits
from litellm_evenkeel.rotation.need import ONE
from litellm_evenkeel.rotation.observer import Unobserved
from litellm_evenkeel.rotation.picks import Full, Pick
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.signals import LONGEST_QUOTA
from litellm_evenkeel.rotation.steering import Steering
from litellm_evenkeel.rotation.terms import RotationTerms

if TYPE_CHECKING:
    from conftest import World


def deployment(key: str) -> dict[str, object]:
    info = {"id": "a", "account": "a", "limits": {"concurrent": 1}}
    return {"litellm_params": {"model": "m", "api_key": key}, "model_info": info}


async def test_who_waits_goes_on_waiting_when_the_candidates_change(world: World) -> None:
    steering = Steering(
        RotationTerms(wait=5.0),
        clock=world.clock,
        random=random.Random(3).random,
        seat=lambda one, requested: Seat.of(one, {}, requested),
        observer=Unobserved(),
    )
    over = asyncio.Event()

    def come(key: str) -> asyncio.Task[Pick | Full]:
        async def run() -> Pick | Full:
            found = await steering.choose("g", [deployments[key]], None, {})
            await over.wait()
            return found

        return asyncio.create_task(run())

    deployments = {key: deployment(key) for key in ("old", "new")}
    requests = []
    for key in ("old", "old", "new"):
        requests.append(come(key))
        await asyncio.sleep(0.01)
    # It is found out by then that the candidates are others.
    await asyncio.sleep(1.2)
    over.set()
    for request in requests:
        assert isinstance(await request, Pick)
    await asyncio.sleep(0)
    assert all(side.in_flight == 0 for side in steering.pool.sides.values())


def test_what_was_used_counts_when_the_limit_is_another_amount(world: World) -> None:
    seat = world.seat("a", {"daily": 10})
    world.used(world.group(seat), 8)
    group = world.group(replace(seat, limits=Limits.of({"daily": 11}, "x")))
    world.used(group, 3)
    assert isinstance(world.pool.pick(group, Asked()), Full)
    world.now += 2 * DAY
    world.used(group, 11)


def test_the_account_that_a_deployment_had_before_is_let_go(world: World) -> None:
    seat = world.seat("a")
    for each in range(5):
        world.pool.place(replace(seat, account=f"account-{each}"))
    world.pool.tidy()
    assert {account for account, _ in world.pool.sides} == {"account-4"}
    assert len(world.pool.sides) == 2


@pytest.mark.parametrize("told", ["999999999", "900000000s"])
def test_a_reset_that_no_provider_means_does_not_shut_an_account_for_ever(told: str, world: World) -> None:
    group = world.group(world.seat("a"))
    headers = {f"x-ratelimit-{name}-requests": value for name, value in {"limit": "9", "remaining": "0"}.items()}
    headers["x-ratelimit-reset-requests"] = told
    world.pool.settle(world.pick(group).lease, ONE, readings=readings(headers, now=world.now))
    assert isinstance(world.pool.pick(group, Asked()), Full)
    world.now += LONGEST_QUOTA + DAY
    world.pick(group)


def test_models_that_were_made_up_do_not_push_out_what_counts(world: World) -> None:
    seat = world.seat("a", {"daily": 3})
    group = world.group(seat)
    world.used(group, 3)
    world.pool.dissolve(group)
    for each in range(idle.MOST + 10):
        world.pool.dissolve(world.group(replace(seat, id="b", account="b", model=f"model-{each}", limits=FREE)))
    assert len(world.pool.sides) <= idle.MOST + 1
    assert isinstance(world.pool.pick(world.group(seat), Asked()), Full)


def test_holds_that_are_over_leave_room_for_what_is_heard_of_others(world: World) -> None:
    for each in range(sides.MOST_HEARD):
        world.pool.hold(Held("a", f"model-{each}", Kind.OVERLOADED, "", world.now + 1.0, is_told=False))
    world.now += 2.0
    world.pool.hold(Held("b", None, Kind.PERMANENT, "", math.inf, is_told=True))
    assert isinstance(world.pool.pick(world.group(world.seat("b")), Asked()), Full)
