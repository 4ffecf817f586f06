from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.group import SLICE, Group
from litellm_evenkeel.rotation.kinds import Kind
from litellm_evenkeel.rotation.refreshing import Refreshing

if TYPE_CHECKING:
    import pytest
    from conftest import World

    from litellm_evenkeel.rotation.pool import Pool


class Rig:
    def __init__(self, world: World, number: int = 4, **terms: object) -> None:
        self.world = world
        self.rebuilt = 0
        refreshing = Refreshing(world.clock, self.count)
        self.pool: Pool = world.made(refresh=refreshing, **terms)
        refreshing.serve(self.pool)
        self.group: Group = world.group(*(world.seat(str(each)) for each in range(number)))

    def count(self, seconds: float) -> None:
        assert seconds >= 0
        self.rebuilt += 1

    async def settled(self) -> None:
        async with asyncio.timeout(10):
            while self.group.is_refreshing:
                await asyncio.sleep(0)


async def test_however_many_ask_a_snapshot_is_made_once(world: World) -> None:
    rig = Rig(world)
    world.now += 11
    first = rig.group.snapshot
    for _ in range(50):
        world.pick(rig.group)
    # Off the path of the requests.
    assert rig.group.snapshot is first
    await rig.settled()
    assert rig.group.snapshot.taken == world.now
    assert rig.rebuilt == 1
    world.pick(rig.group)
    await rig.settled()
    assert rig.rebuilt == 1


async def test_it_is_made_in_slices_that_leave_others_the_thread(world: World) -> None:
    rig = Rig(world, 4 * SLICE)
    world.now += 11
    world.pick(rig.group)
    turns = 0
    while rig.group.is_refreshing:
        await asyncio.sleep(0)
        turns += 1
        # Meanwhile the former one serves.
        world.pick(rig.group)
    assert turns >= 4
    assert rig.group.snapshot.taken == world.now


async def test_a_failure_is_seen_at_once(world: World) -> None:
    rig = Rig(world)
    world.now += 1
    world.hold(rig.group, "2", kind=Kind.PERMANENT)
    await rig.settled()
    assert rig.group.snapshot.weights[2] == 0
    # Of the others nothing is older than it was.
    assert rig.group.snapshot.taken < world.now


async def test_what_happens_while_one_is_made_is_in_the_next(world: World) -> None:
    rig = Rig(world, 3 * SLICE)
    world.now += 11
    world.pick(rig.group)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # It has been looked at already.
    assert rig.group.is_refreshing
    world.hold(rig.group, "0", kind=Kind.PERMANENT)
    await rig.settled()
    world.now += 1
    world.pick(rig.group, Asked(prefer="5"))
    await rig.settled()
    assert rig.group.snapshot.weights[0] == 0


async def test_without_a_time_to_live_each_request_has_its_own(world: World) -> None:
    rig = Rig(world, snapshot_ttl=0.0)
    for _ in range(5):
        world.now += 0.001
        world.pick(rig.group)
        assert rig.group.snapshot.taken == world.now


async def test_an_error_while_it_is_made_does_not_end_it_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(world)
    loop = asyncio.get_running_loop()
    told: list[object] = []
    loop.set_exception_handler(lambda _, context: told.append(context))
    with monkeypatch.context() as broken:
        broken.setattr(Group, "patch", lambda self, now: 1 / 0)
        world.now += 1
        world.hold(rig.group, "1")
        await rig.settled()
    loop.set_exception_handler(None)
    assert len(told) == 1
    world.now += 1
    world.pick(rig.group)
    await rig.settled()
    assert rig.group.snapshot.weights[1] == 0
