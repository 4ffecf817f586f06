"""A worker waits for a lease of remaining capacity for a moment only."""

from __future__ import annotations

import asyncio
import math
import random
import time
from typing import TYPE_CHECKING

import pytest
from memory_lease_store import MemoryStore

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.inspection.account_status import account_statuses
from litellm_evenkeel.rotation.inspection.metrics import PickCounts
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.quota_sharing import CoordinatorSettings, QuotaCoordinator, leased_window
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownMessage
    from litellm_evenkeel.rotation.quota_sharing.protocol import LeaseRequest, LeaseResponse


class Store(MemoryStore):
    """One that may be slow."""

    def __init__(self) -> None:
        super().__init__(time.monotonic)
        self.lets = asyncio.Event()
        self.lets.set()

    async def exchange(self, call: LeaseRequest) -> LeaseResponse:
        await self.lets.wait()
        return await super().exchange(call)

    async def publish(self, words: Sequence[CooldownMessage]) -> None:
        pass

    async def history(self) -> list[bytes | str]:
        return []

    async def listen(self) -> AsyncIterator[bytes | str | None]:
        yield None
        await asyncio.Event().wait()


class Rig:
    """A worker with an account that it shares, and one without limits."""

    def __init__(self, timeout: float = 0.5) -> None:
        self.store = Store()
        settings = CoordinatorSettings(
            timeout=timeout, heartbeat=0.05, gone=5 * timeout, settle=0.05, tick=0.01, workers=2
        )
        self.coordinator = QuotaCoordinator(self.store, self.store, settings, clock=time.monotonic)
        self.router = AccountRouter(
            RotationSettings(),
            clock=time.monotonic,
            random=random.Random(1).random,
            spec=lambda one, requested: DeploymentSpec.from_litellm(one, {}, requested),
            observer=Observer(),
            sharing=self.coordinator,
        )
        self.calls = 0

    async def went(self, *accounts: dict, session: str | None = None) -> str | None:
        """Return who answers a request after a time in which all grants have gone back."""
        self.calls += 1
        request = {"litellm_call_id": str(self.calls), **({"metadata": {"session_id": session}} if session else {})}
        deployments = [
            {"litellm_params": {"model": "m"}, "model_info": {"id": one["account"], **one}} for one in accounts
        ]
        found = await asyncio.create_task(self.router.pick("g", deployments, None, request))
        if not isinstance(found, Pick):
            return None
        self.router.pool.settle(found.reservation, found.reservation.usage)
        return found.deployment.spec.account


FIRST = {"account": "first", "limits": {"rpm": 60}}
SPARE = {"account": "spare", "priority": 2}


async def test_a_spare_is_not_used_while_an_earlier_tier_has_only_to_be_granted_something() -> None:
    rig = Rig()
    await rig.coordinator.start(rig.router.pool, wait_seconds=0.5)
    try:
        for _ in range(2):
            assert await rig.went(FIRST, SPARE) == "first"
            await asyncio.sleep(1.2)
        pick_counts = PickCounts()
        steps = account_statuses(rig.router.pool, time.monotonic(), pick_counts)
        try:
            while True:
                next(steps)
        except StopIteration as end:
            first = next(one for one in end.value if one.account == "first")
        # What has gone back is left as well.
        assert first.account_scope.windows[0].remaining == 58
    finally:
        await rig.coordinator.stop()


async def test_a_session_waits_for_what_its_account_is_granted() -> None:
    rig = Rig()
    await rig.coordinator.start(rig.router.pool, wait_seconds=0.5)
    try:
        assert await rig.went(FIRST, session="s") == "first"
        await asyncio.sleep(1.2)
        for _ in range(2):
            assert await rig.went(FIRST, {"account": "other"}, session="s") == "first"
            await asyncio.sleep(1.2)
    finally:
        await rig.coordinator.stop()


async def test_what_is_not_granted_in_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Unspent leases are returned after a second, as if little were left.
    monkeypatch.setattr(leased_window, "PLENTY_SHARE", math.inf)
    rig = Rig(timeout=30.0)
    await rig.coordinator.start(rig.router.pool, wait_seconds=0.5)
    try:
        assert await rig.went(FIRST, SPARE) == "first"
        await asyncio.sleep(1.2)
        rig.store.lets.clear()
        began = time.monotonic()
        assert await rig.went(FIRST, SPARE) == "spare"
        assert time.monotonic() - began < 2
    finally:
        rig.store.lets.set()
        await rig.coordinator.stop()


async def test_a_session_returns_to_its_account_after_its_slots_were_returned() -> None:
    rig = Rig()
    account = {"account": "first", "limits": {"concurrent": 4}}
    await rig.coordinator.start(rig.router.pool, wait_seconds=0.5)
    try:
        assert await rig.went(account, session="s") == "first"
        await asyncio.sleep(1.5)
        accounts = []
        for _ in range(6):
            accounts.append(await rig.went(account, {"account": "other"}, session="s"))
            await asyncio.sleep(0.1)
        assert accounts[-3:] == ["first"] * 3
    finally:
        await rig.coordinator.stop()


@pytest.mark.parametrize("limits", [{"rpm": 6}, {"concurrent": 1}])
async def test_a_retry_at_the_only_account_requests_its_lease(limits: dict[str, int]) -> None:
    rig = Rig()
    await rig.coordinator.start(rig.router.pool, wait_seconds=0.5)
    failure = Failure(FailureKind.TRANSIENT, FailureScope.ACCOUNT_MODEL, None, "of the test")
    deployments = [
        {"litellm_params": {"model": "m"}, "model_info": {"id": "first", "account": "first", "limits": limits}}
    ]

    async def attempts() -> list[object]:
        outcomes = []
        for _ in range(2):
            outcomes.append(await rig.router.pick("g", deployments, None, {"litellm_call_id": "1"}))
            rig.router.on_failure("first", failure, None, time.time())
            await asyncio.sleep(1.5)
        return outcomes

    try:
        assert [isinstance(outcome, Pick) for outcome in await asyncio.create_task(attempts())] == [True, True]
    finally:
        await rig.coordinator.stop()
