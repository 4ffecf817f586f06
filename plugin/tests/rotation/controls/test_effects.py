"""Effects of controls on picks: paused and draining accounts, priorities and weights."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from typing import Any

import pytest

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.model.control import Control, ControlKind, Traffic
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.request import Usage
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName


def deployment(account: str, **info: Any) -> dict[str, Any]:
    return {
        "model_name": "chat",
        "litellm_params": {"model": "openai/gpt", "api_key": f"key of {account}"},
        "model_info": {"id": f"id-{account}", "account": account, **info},
    }


class World:
    def __init__(self, strategy: StrategyName = StrategyName.ROUND_ROBIN, accounts: str = "abc") -> None:
        self.now = 1_000_000.0
        self.deployments = [deployment(name) for name in accounts]
        self.router = AccountRouter(
            RotationSettings(strategy=strategy, queue_timeout=0.0),
            clock=lambda: self.now,
            random=random.Random(1).random,
            spec=lambda one, model: DeploymentSpec.from_litellm(one, {}, model),
            observer=RotationMetrics(None),
        )
        self.calls = 0

    def put(self, account: str, **fields: Any) -> None:
        self.router.controls.put(Control(account=account, **fields))

    def pause(self, account: str, seconds: float = math.inf, traffic: Traffic = Traffic.PAUSED) -> None:
        until = None if seconds == math.inf else self.now + seconds
        self.put(account, kind=ControlKind.TRAFFIC, traffic=traffic, until=until)

    async def pick(self, session: str | None = None) -> Pick | NoCapacity:
        self.calls += 1
        request = {"metadata": {"session_id": session}, "litellm_call_id": f"call-{self.calls}"}
        picked = await self.router.pick("chat", self.deployments, [], request)
        if isinstance(picked, Pick):
            self.router.pool.settle(picked.reservation, Usage())
        return picked

    async def account(self, session: str | None = None) -> str:
        picked = await self.pick(session)
        assert isinstance(picked, Pick)
        return picked.deployment.spec.account

    async def accounts(self, number: int = 60) -> Counter[str]:
        return Counter([await self.account() for _ in range(number)])


async def test_a_quarantine_outlasts_a_change_of_weight_and_a_reload() -> None:
    world = World(accounts="ab")
    world.deployments.append(deployment("a") | {"model_info": {"id": "second key", "account": "a"}})
    world.deployments[-1]["litellm_params"] = {"model": "openai/gpt", "api_key": "revoked"}
    revoked = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked")
    await world.accounts(6)
    state = world.router.pool.deployments["second key", "openai/gpt"]
    state.account.cooldown.apply_failure(revoked, world.now, world.now, state.spec.credential)
    assert set(await world.accounts()) == {"b"}
    world.put("a", kind=ControlKind.WEIGHT, number=2.0)
    assert set(await world.accounts()) == {"b"}
    world.router.use(RotationSettings(strategy=StrategyName.HEADROOM, queue_timeout=0.0))
    assert set(await world.accounts()) == {"b"}


@pytest.mark.parametrize("strategy", StrategyName)
async def test_a_paused_account_gets_no_request_until_it_is_resumed(strategy: StrategyName) -> None:
    world = World(strategy)
    await world.accounts(3)
    world.pause("a")
    assert set(await world.accounts()) <= {"b", "c"}
    world.router.controls.withdraw(("a", ControlKind.TRAFFIC))
    world.now += 60
    assert "a" in await world.accounts(200) or strategy is StrategyName.FILL_FIRST


async def test_an_account_may_be_paused_before_its_first_request() -> None:
    world = World()
    world.pause("a")
    assert set(await world.accounts()) == {"b", "c"}


async def test_a_pause_with_an_end_ends_by_itself() -> None:
    world = World()
    await world.accounts(3)
    world.pause("a", 30.0)
    assert set(await world.accounts()) == {"b", "c"}
    world.now += 30.1
    assert "a" in await world.accounts()


async def test_if_all_accounts_are_paused_the_first_end_is_named() -> None:
    world = World(accounts="ab")
    world.pause("a")
    world.pause("b", 30.0)
    refused = await world.pick()
    assert isinstance(refused, NoCapacity)
    assert refused.available_in == pytest.approx(30.0)
    assert refused.blocker is not None
    assert refused.blocker.reason is BlockReason.PAUSED
    world.pause("b")
    refused = await world.pick()
    assert isinstance(refused, NoCapacity)
    assert refused.available_in == math.inf


async def test_a_draining_account_keeps_its_sessions_and_gets_no_new_ones() -> None:
    world = World()
    sessions = {f"s{number}": await world.account(f"s{number}") for number in range(30)}
    world.pause("a", traffic=Traffic.DRAINING)
    assert {name: await world.account(name) for name in sessions} == sessions
    assert "a" in sessions.values()
    assert {await world.account(f"new-{number}") for number in range(30)} == {"b", "c"}
    assert set(await world.accounts()) == {"b", "c"}


async def test_sessions_of_a_paused_account_come_back_after_a_short_pause_and_not_after_a_long_one() -> None:
    world = World()
    sessions = {f"s{number}": await world.account(f"s{number}") for number in range(30)}
    of_a = [name for name, account in sessions.items() if account == "a"]
    world.pause("a", 20.0)
    assert "a" not in {await world.account(name) for name in of_a}
    world.now += 21.0
    assert {await world.account(name) for name in of_a} == {"a"}
    world.pause("a", 7200.0)
    moved = {name: await world.account(name) for name in of_a}
    world.router.controls.withdraw(("a", ControlKind.TRAFFIC))
    world.now += 10.0
    assert {name: await world.account(name) for name in of_a} == moved


async def test_a_priority_moves_an_account_behind_the_others_and_back() -> None:
    world = World()
    await world.accounts(3)
    world.put("a", kind=ControlKind.PRIORITY, number=9)
    assert set(await world.accounts()) == {"b", "c"}
    world.pause("b")
    world.pause("c")
    assert set(await world.accounts()) == {"a"}
    for account, kind in (("a", ControlKind.PRIORITY), ("b", ControlKind.TRAFFIC), ("c", ControlKind.TRAFFIC)):
        world.router.controls.withdraw((account, kind))
    assert set(await world.accounts()) == {"a", "b", "c"}


async def test_a_weight_changes_the_share_of_an_account() -> None:
    world = World(StrategyName.WEIGHTED)
    world.put("a", kind=ControlKind.WEIGHT, number=2)
    used = await world.accounts(400)
    assert used["a"] == pytest.approx(200, abs=4)


async def test_a_waiting_request_is_served_when_an_account_is_resumed() -> None:
    world = World(accounts="a")
    world.router.admission.queue_timeout = 5.0
    await world.account()
    world.pause("a", 2.0)
    waiting = asyncio.ensure_future(world.account())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    world.router.controls.withdraw(("a", ControlKind.TRAFFIC))
    assert await asyncio.wait_for(waiting, 2.0) == "a"


async def test_other_settings_hold_from_the_next_request_on() -> None:
    world = World(StrategyName.ROUND_ROBIN)
    assert set(await world.accounts(30)) == {"a", "b", "c"}
    world.router.use(RotationSettings(strategy=StrategyName.FILL_FIRST, queue_timeout=0.0))
    assert set(await world.accounts(30)) == {"a"}
    world.router.use(RotationSettings(strategies={"chat": StrategyName.ROUND_ROBIN}, queue_timeout=0.0))
    assert set(await world.accounts(30)) == {"a", "b", "c"}


async def test_an_operators_pause_comes_before_an_estimated_cooldown() -> None:
    world = World(accounts="ab")
    await world.accounts(2)
    failed = await world.router.pick("chat", world.deployments[:1], [], {"litellm_call_id": "failing"})
    assert isinstance(failed, Pick)
    world.router.pool.fail(failed.reservation, Failure(FailureKind.RATE_LIMIT, FailureScope.ACCOUNT, None, "test"))
    world.pause("a")
    world.pause("b")
    refused = await world.pick()
    assert isinstance(refused, NoCapacity)
    assert refused.available_in == math.inf


async def test_a_draining_account_keeps_its_pins_when_it_is_busy_for_a_moment() -> None:
    world = World()
    sessions = {f"s{number}": await world.account(f"s{number}") for number in range(30)}
    of_a = [name for name, account in sessions.items() if account == "a"]
    world.pause("a", traffic=Traffic.DRAINING)
    # As if the account had no slot: the request goes elsewhere, and the session stays.
    scope = world.router.pool.scopes["a", None]
    scope.concurrent, scope.in_flight = 1, 1
    assert await world.account(of_a[0]) != "a"
    scope.concurrent, scope.in_flight = None, 0
    assert {await world.account(name) for name in of_a} == {"a"}
