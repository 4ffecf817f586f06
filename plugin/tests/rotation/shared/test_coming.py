"""What is left for all, and has only to be granted to this worker, is waited for: for a moment, and no longer."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.observer import Unobserved
from litellm_evenkeel.rotation.picks import Pick
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.shared import Shared, Sharing
from litellm_evenkeel.rotation.shared.memory import MemoryStore
from litellm_evenkeel.rotation.standing import standings
from litellm_evenkeel.rotation.steering import Steering
from litellm_evenkeel.rotation.tally import Tally
from litellm_evenkeel.rotation.terms import RotationTerms

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from litellm_evenkeel.rotation.shared.asks import Call, Reply
    from litellm_evenkeel.rotation.shared.words import Word


class Store(MemoryStore):
    """One that may be slow."""

    def __init__(self) -> None:
        super().__init__(time.monotonic)
        self.lets = asyncio.Event()
        self.lets.set()

    async def exchange(self, call: Call) -> Reply:
        await self.lets.wait()
        return await super().exchange(call)

    async def say(self, words: Sequence[Word]) -> None:
        pass

    async def said(self) -> list[bytes | str]:
        return []

    async def listen(self) -> AsyncIterator[bytes | str | None]:
        yield None
        await asyncio.Event().wait()


class Rig:
    """A worker with an account that it shares, and one without limits."""

    def __init__(self, timeout: float = 0.5) -> None:
        self.store = Store()
        terms = Sharing(timeout=timeout, heartbeat=0.05, gone=5 * timeout, settle=0.05, tick=0.01, workers=2)
        self.shared = Shared(self.store, self.store, terms, clock=time.monotonic, freed=lambda: None)
        self.steering = Steering(
            RotationTerms(),
            clock=time.monotonic,
            random=random.Random(1).random,
            seat=lambda one, requested: Seat.of(one, {}, requested),
            observer=Unobserved(),
            shared=self.shared,
        )
        self.calls = 0

    async def went(self, *accounts: dict, session: str | None = None) -> str | None:
        """Return who answers a request after a time in which all grants have gone back."""
        self.calls += 1
        request = {"litellm_call_id": str(self.calls), **({"metadata": {"session_id": session}} if session else {})}
        deployments = [
            {"litellm_params": {"model": "m"}, "model_info": {"id": one["account"], **one}} for one in accounts
        ]
        found = await asyncio.create_task(self.steering.choose("g", deployments, None, request))
        if not isinstance(found, Pick):
            return None
        self.steering.pool.settle(found.lease, found.lease.need)
        return found.place.seat.account


FIRST = {"account": "first", "limits": {"rpm": 60}}
SPARE = {"account": "spare", "priority": 2}


async def test_a_spare_is_not_used_while_an_earlier_tier_has_only_to_be_granted_something() -> None:
    rig = Rig()
    await rig.shared.start(rig.steering.pool, patience=0.5)
    try:
        for _ in range(2):
            assert await rig.went(FIRST, SPARE) == "first"
            await asyncio.sleep(1.2)
        tally = Tally()
        steps = standings(rig.steering.pool, time.monotonic(), tally)
        try:
            while True:
                next(steps)
        except StopIteration as end:
            first = next(one for one in end.value if one.account == "first")
        # What has gone back is left as well.
        assert first.whole.windows[0].left == 58
    finally:
        await rig.shared.stop()


async def test_a_session_waits_for_what_its_account_is_granted() -> None:
    rig = Rig()
    await rig.shared.start(rig.steering.pool, patience=0.5)
    try:
        assert await rig.went(FIRST, session="s") == "first"
        await asyncio.sleep(1.2)
        for _ in range(2):
            assert await rig.went(FIRST, {"account": "other"}, session="s") == "first"
            await asyncio.sleep(1.2)
    finally:
        await rig.shared.stop()


async def test_what_is_not_granted_in_time_is_not_waited_for() -> None:
    rig = Rig(timeout=30.0)
    await rig.shared.start(rig.steering.pool, patience=0.5)
    try:
        assert await rig.went(FIRST, SPARE) == "first"
        await asyncio.sleep(1.2)
        rig.store.lets.clear()
        began = time.monotonic()
        assert await rig.went(FIRST, SPARE) == "spare"
        assert time.monotonic() - began < 2
    finally:
        rig.store.lets.set()
        await rig.shared.stop()
