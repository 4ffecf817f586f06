"""Where a session goes while its own account cannot be used: to one and the same other one."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest
from memory_session_store import MemorySessionStore

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.affinity.replicator import SessionReplicator
from litellm_evenkeel.rotation.affinity.session_affinity import SessionAffinity
from litellm_evenkeel.rotation.affinity.session_table import SessionTable
from litellm_evenkeel.rotation.inspection.inspector import ExplainQuery, RotationInspector
from litellm_evenkeel.rotation.inspection.metrics import PickCounts
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.affinity.session_store import SessionStore

NAMES = "abcde"


class Rig:
    """One worker, whose strategy takes another account each time."""

    def __init__(self, world: World, pins: SessionStore | None = None, **limits: object) -> None:
        self.world, settings = world, RotationSettings(strategy=StrategyName.ROUND_ROBIN, queue_timeout=0.0)
        self.sessions = SessionTable(settings.affinity)
        replicator = None
        if pins is not None:
            adopt = lambda key, account: self.sessions.merge(key, account, world.now)  # noqa: E731
            replicator = SessionReplicator(pins, settings.affinity, adopt, world.clock)
        self.router = AccountRouter(
            settings,
            clock=world.clock,
            random=random.Random(3).random,
            spec=lambda one, requested: DeploymentSpec.from_litellm(one, {}, requested),
            observer=Observer(),
            affinity=SessionAffinity(
                settings.affinity, clock=world.clock, sessions=self.sessions, replicator=replicator
            ),
        )
        self.deployments = [
            {"litellm_params": {"model": "m"}, "model_info": {"id": name, "account": name, "limits": limits}}
            for name in NAMES
        ]
        self.calls = 0

    async def went(self, session: str = "s") -> str:
        """Make a request that ends at once, and return who answered."""
        return await asyncio.create_task(self._went(session))

    async def _went(self, session: str) -> str:
        pick = await self._picked(session)
        self.router.pool.settle(pick.reservation, pick.reservation.usage)
        return pick.deployment.spec.account

    async def fails(self, kind: FailureKind, seconds: float | None = None) -> str:
        """Fail a request of the session, and return the account of its retry."""

        async def run() -> str:
            pick = await self._picked("s")
            failure = Failure(kind, FailureScope.ACCOUNT, seconds, "test")
            self.router.on_failure(pick.deployment.spec.id, failure, None, 0.0)
            return (await self._picked("s", same=True)).deployment.spec.account

        return await asyncio.create_task(run())

    async def _picked(self, session: str, *, same: bool = False) -> Pick:
        self.calls += not same
        asked = {"litellm_call_id": str(self.calls), "metadata": {"session_id": session}}
        found = await self.router.pick("g", list(self.deployments), None, asked)
        assert isinstance(found, Pick)
        return found

    def without(self, account: str) -> None:
        self.deployments = [one for one in self.deployments if one["model_info"]["account"] != account]


async def test_a_session_whose_account_has_no_room_goes_to_one_other_and_comes_back(world: World) -> None:
    rig = Rig(world, rpm=10)
    own = [await rig.went() for _ in range(10)]
    assert len(set(own)) == 1
    meanwhile = [await rig.went() for _ in range(8)]
    assert len(set(meanwhile)) == 1
    assert meanwhile[0] != own[0]
    world.now += 62
    assert await rig.went() == own[0]
    assert (rig.sessions.counts().moved, rig.sessions.counts().new) == (0, 1)


async def test_it_is_the_same_other_one_the_next_time(world: World) -> None:
    rig = Rig(world, rpm=10)
    went = []
    for _ in range(3):
        went += [await rig.went() for _ in range(14)]
        world.now += 62
    assert len(set(went)) == 2


async def test_a_session_whose_account_has_no_room_for_long_moves_for_good(world: World) -> None:
    rig = Rig(world, windows=[{"for": "5h", "requests": 10}])
    own = [await rig.went() for _ in range(10)]
    moved = [await rig.went() for _ in range(5)]
    assert len(set(moved)) == 1
    assert moved[0] != own[0]
    assert (rig.sessions.counts().moved, rig.sessions.counts().fallbacks) == (1, 0)


async def test_a_session_of_an_account_that_is_gone_waits_a_while_and_moves_for_good(world: World) -> None:
    rig = Rig(world)
    own, everybody = await rig.went(), list(rig.deployments)
    rig.without(own)
    meanwhile = set()
    for _ in range(10):
        meanwhile.add(await rig.went())
        world.now += 5
    assert len(meanwhile) == 1
    rig.deployments = everybody
    assert await rig.went() == own
    rig.without(own)
    for _ in range(15):
        meanwhile.add(await rig.went())
        world.now += 5
    rig.deployments = everybody
    assert {await rig.went()} == meanwhile
    assert rig.sessions.counts().moved == 1


async def test_who_is_held_for_a_moment_or_failed_once_is_away_at_the_same_one(world: World) -> None:
    rig = Rig(world)
    own = await rig.went()
    other = await rig.fails(FailureKind.RATE_LIMIT, 5.0)
    assert {await rig.went() for _ in range(6)} == {other} != {own}
    world.now += 8
    assert await rig.went() == own
    # Till it is all back, the others stay where they are.
    world.now += 2
    assert await rig.fails(FailureKind.TRANSIENT) == other
    assert await rig.went() == own


async def test_workers_that_share_pins_agree_on_the_other_one(world: World) -> None:
    pins = MemorySessionStore(world.clock)
    one, two = Rig(world, pins), Rig(world, pins)
    own = await one.went()
    await asyncio.sleep(0.01)
    assert await two.went() == own
    for rig in (one, two):
        rig.without(own)
    await two.went("t")
    first = await one.went()
    await asyncio.sleep(0.01)
    await two.went()
    await asyncio.sleep(0.01)
    assert {await rig.went() for rig in (one, two) for _ in range(3)} == {first}


@pytest.mark.parametrize("tokens", [None, 1.0])
async def test_an_explanation_names_where_it_goes_meanwhile(world: World, tokens: float | None) -> None:
    rig = Rig(world, rpm=3)
    own = [await rig.went() for _ in range(3)]
    other = await rig.went()
    inspector = RotationInspector(rig.router, PickCounts())
    told = await inspector.explain(ExplainQuery("g", tokens, session="s"))
    assert told is not None
    assert (told.pinned_to, told.explanation.chosen) == (own[0], other)
