from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.request import PickRequest
from litellm_evenkeel.rotation.pool.snapshot_refresher import SnapshotRefresher
from litellm_evenkeel.rotation.selection.candidate_set import REBUILD_SLICE, CandidateSet
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    import pytest
    from conftest import World

    from litellm_evenkeel.rotation.pool.account_pool import AccountPool


class Rig:
    def __init__(self, world: World, number: int = 4) -> None:
        self.world = world
        self.rebuilt = 0
        refresher = SnapshotRefresher(RotationSettings().snapshot_ttl, world.clock, self.count)
        self.pool: AccountPool = world.made(refresh=refresher)
        self.candidates: CandidateSet = world.group(*(world.seat(str(each)) for each in range(number)))

    def count(self, seconds: float) -> None:
        assert seconds >= 0
        self.rebuilt += 1

    async def settled(self) -> None:
        async with asyncio.timeout(10):
            while self.candidates.is_refreshing:
                await asyncio.sleep(0)


async def test_however_many_ask_a_snapshot_is_made_once(world: World) -> None:
    rig = Rig(world)
    world.now += 11
    first = rig.candidates.snapshot
    for _ in range(50):
        world.pick(rig.candidates)
    # Off the path of the requests.
    assert rig.candidates.snapshot is first
    await rig.settled()
    assert rig.candidates.snapshot.taken == world.now
    assert rig.rebuilt == 1
    world.pick(rig.candidates)
    await rig.settled()
    assert rig.rebuilt == 1


async def test_it_is_made_in_slices_that_leave_others_the_thread(world: World) -> None:
    rig = Rig(world, 4 * REBUILD_SLICE)
    world.now += 11
    world.pick(rig.candidates)
    turns = 0
    while rig.candidates.is_refreshing:
        await asyncio.sleep(0)
        turns += 1
        # Meanwhile the former one serves.
        world.pick(rig.candidates)
    assert turns >= 4
    assert rig.candidates.snapshot.taken == world.now


async def test_a_failure_is_seen_at_once(world: World) -> None:
    rig = Rig(world)
    world.now += 1
    world.hold(rig.candidates, "2", kind=FailureKind.PERMANENT)
    await rig.settled()
    assert rig.candidates.snapshot.weights[2] == 0
    # Of the others nothing is older than it was.
    assert rig.candidates.snapshot.taken < world.now


async def test_what_happens_while_one_is_made_is_in_the_next(world: World) -> None:
    rig = Rig(world, 3 * REBUILD_SLICE)
    world.now += 11
    world.pick(rig.candidates)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # It has been looked at already.
    assert rig.candidates.is_refreshing
    world.hold(rig.candidates, "0", kind=FailureKind.PERMANENT)
    await rig.settled()
    world.now += 1
    world.pick(rig.candidates, PickRequest(preferred_account="5"))
    await rig.settled()
    assert rig.candidates.snapshot.weights[0] == 0


async def test_an_error_while_it_is_made_does_not_end_it_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(world)
    loop = asyncio.get_running_loop()
    told: list[object] = []
    loop.set_exception_handler(lambda _, context: told.append(context))
    with monkeypatch.context() as broken:
        broken.setattr(CandidateSet, "refresh_dirty", lambda self, now: 1 / 0)
        world.now += 1
        world.hold(rig.candidates, "1")
        await rig.settled()
    loop.set_exception_handler(None)
    assert len(told) == 1
    world.now += 1
    world.pick(rig.candidates)
    await rig.settled()
    assert rig.candidates.snapshot.weights[1] == 0
