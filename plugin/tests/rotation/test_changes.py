"""Deployments, limits and candidates that become others while they are in use."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.providers.classifier import LONGEST_QUOTA
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.providers.limit_headers import parse_limit_headers
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import DAY, UNLIMITED, Limits
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, PickRequest
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.rotation.state import registry
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

if TYPE_CHECKING:
    from conftest import World


def deployment(key: str) -> dict[str, object]:
    info = {"id": "a", "account": "a", "limits": {"concurrent": 1}}
    return {"litellm_params": {"model": "m", "api_key": key}, "model_info": info}


async def test_who_waits_goes_on_waiting_when_the_candidates_change(world: World) -> None:
    router = AccountRouter(
        RotationSettings(queue_timeout=5.0),
        clock=world.clock,
        random=random.Random(3).random,
        spec=lambda one, requested: DeploymentSpec.from_litellm(one, {}, requested),
        observer=Observer(),
    )
    over = asyncio.Event()

    def come(key: str) -> asyncio.Task[Pick | NoCapacity]:
        async def run() -> Pick | NoCapacity:
            found = await router.pick("g", [deployments[key]], None, {})
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
    assert all(scope.in_flight == 0 for scope in router.pool.scopes.values())


def test_what_was_used_counts_when_the_limit_is_another_amount(world: World) -> None:
    spec = world.seat("a", {"daily": 10})
    world.used(world.group(spec), 8)
    candidates = world.group(replace(spec, limits=Limits.of({"daily": 11}, "x")))
    world.used(candidates, 3)
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    world.now += 2 * DAY
    world.used(candidates, 11)


def test_the_account_that_a_deployment_had_before_is_let_go(world: World) -> None:
    spec = world.seat("a")
    for each in range(5):
        world.pool.deployment(replace(spec, account=f"account-{each}"))
    world.pool.evict_idle()
    assert {account for account, _ in world.pool.scopes} == {"account-4"}
    assert len(world.pool.scopes) == 2


@pytest.mark.parametrize("told", ["999999999", "900000000s"])
def test_a_reset_that_no_provider_means_does_not_shut_an_account_for_ever(told: str, world: World) -> None:
    candidates = world.group(world.seat("a"))
    headers = {f"x-ratelimit-{name}-requests": value for name, value in {"limit": "9", "remaining": "0"}.items()}
    headers["x-ratelimit-reset-requests"] = told
    world.pool.settle(
        world.pick(candidates).reservation, SINGLE_REQUEST, readings=parse_limit_headers(headers, now=world.now)
    )
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    world.now += LONGEST_QUOTA + DAY
    world.pick(candidates)


def test_models_that_were_made_up_do_not_push_out_what_counts(world: World) -> None:
    spec = world.seat("a", {"daily": 3})
    candidates = world.group(spec)
    world.used(candidates, 3)
    world.pool.retire(candidates)
    for each in range(registry.MAX_IDLE_SCOPES + 10):
        world.pool.retire(world.group(replace(spec, id="b", account="b", model=f"model-{each}", limits=UNLIMITED)))
    assert len(world.pool.scopes) <= registry.MAX_IDLE_SCOPES + 1
    assert isinstance(world.pool.pick(world.group(spec), PickRequest()), NoCapacity)


def test_holds_that_are_over_leave_room_for_what_is_heard_of_others(world: World) -> None:
    for each in range(registry.MAX_PENDING_UPDATES):
        world.pool.apply_cooldown_update(
            CooldownUpdate("a", f"model-{each}", FailureKind.OVERLOADED, "", world.now + 1.0, is_provider_stated=False)
        )
    world.now += 2.0
    world.pool.apply_cooldown_update(
        CooldownUpdate("b", None, FailureKind.PERMANENT, "", math.inf, is_provider_stated=True)
    )
    assert isinstance(world.pool.pick(world.group(world.seat("b")), PickRequest()), NoCapacity)
