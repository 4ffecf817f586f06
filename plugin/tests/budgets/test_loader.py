"""Lookups are batched, one query at a time, and skipped while a server fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets import Budget, BudgetEntity, Source
from litellm_evenkeel.budgets.loader import BATCH_INTERVAL_SECONDS, MAX_BATCH_ENTITIES
from litellm_evenkeel.support.circuit_breaker import FAILURE_THRESHOLD, JITTER, BreakerState
from litellm_evenkeel.support.driver_errors import DriverError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import World

TEAM = (BudgetEntity.TEAM, "t")


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0)


async def test_who_comes_while_a_question_is_under_way_is_in_the_next_one(world: World) -> None:
    world.database.lets.clear()
    world.get(BudgetEntity.TEAM, "first")
    await until(lambda: world.database.asked)
    for number in range(300):
        world.get(BudgetEntity.USER, str(number))
        await asyncio.sleep(0)
    world.database.lets.set()
    await world.settle()
    assert [len(one) for one in world.database.asked] == [1, 300]
    assert world.database.most_at_once == 1


async def test_of_a_stream_of_unknown_ones_some_are_gathered_for_each_question(world: World) -> None:
    began = world.now
    for number in range(200):
        world.get(BudgetEntity.CUSTOMER, str(number))
        world.now += 0.01
        for _ in range(5):
            await asyncio.sleep(0)
    await world.settle()
    assert len(world.database.asked) <= 1 + (world.now - began) / BATCH_INTERVAL_SECONDS
    assert sum(map(len, world.database.asked)) == 200


async def test_a_question_names_so_many_at_most(world: World) -> None:
    for number in range(2 * MAX_BATCH_ENTITIES + 1):
        world.get(BudgetEntity.CUSTOMER, str(number))
    await world.settle()
    assert [len(one) for one in world.database.asked] == [MAX_BATCH_ENTITIES, MAX_BATCH_ENTITIES, 1]


async def test_no_more_wait_than_are_remembered(make_world: Callable[..., World]) -> None:
    world = make_world(max_entries=10)
    for number in range(15):
        world.get(BudgetEntity.CUSTOMER, str(number))
    assert (world.loader.waiting, world.loader.rejected) == (10, 5)
    await world.settle()


async def test_a_server_that_fails_is_left_alone_and_tried_again_by_itself(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    world.database.error = ConnectionRefusedError()
    world.get(*TEAM)
    await until(lambda: len(world.database.asked) == FAILURE_THRESHOLD)
    await asyncio.sleep(0)
    began = world.now
    await until(lambda: len(world.database.asked) == FAILURE_THRESHOLD + 6)
    # 1, 2, 4, 8, 16 and 30 seconds.
    assert 61 * (1 - JITTER) <= world.now - began <= 61
    world.database.error = None
    recovered = world.now
    await world.settle()
    found = world.get(*TEAM)
    assert found is not None
    assert found.spend == 4.0
    assert world.now - recovered <= world.settings.ttl
    assert set(world.loader.breaker_states().values()) == {BreakerState.CLOSED}


async def test_no_pause_is_longer_than_the_ttl(make_world: Callable[..., World]) -> None:
    world = make_world(ttl=3.0)
    world.database.error = ConnectionRefusedError()
    world.get(*TEAM)
    await until(lambda: len(world.database.asked) == FAILURE_THRESHOLD + 10)
    assert max(world.slept) <= 3.0
    world.database.error = None
    await world.settle()


async def test_who_comes_while_a_server_is_left_alone_is_counted_and_waits(world: World) -> None:
    world.database.error = ConnectionRefusedError()
    world.get(*TEAM)
    await until(lambda: world.loader.breaker_states()[Source.POSTGRES] is not BreakerState.CLOSED)
    asked = len(world.database.asked)
    for _ in range(10):
        world.get(BudgetEntity.USER, "u")
    assert len(world.database.asked) == asked
    assert world.failures.counts[BudgetEntity.USER, Source.POSTGRES, DriverError.CIRCUIT_OPEN] == 1
    world.database.error = None
    await world.settle()
    assert world.get(BudgetEntity.USER, "u") is not None


async def test_a_server_that_hangs_is_given_up_and_nobody_has_waited(world: World) -> None:
    world.database.rows[TEAM] = (10.0, 4.0)
    world.database.lets.clear()
    assert world.get(*TEAM) is None
    await until(lambda: world.failures.counts[BudgetEntity.TEAM, Source.POSTGRES, DriverError.TIMEOUT] == 2)
    assert world.database.dropped >= 2
    world.database.lets.set()
    await world.settle()
    assert world.get(*TEAM) is not None


async def test_a_driver_that_will_not_be_interrupted_is_not_waited_for(world: World) -> None:
    going = asyncio.ensure_future(asyncio.sleep(0.3))
    fetch = world.database.fetch

    async def stubborn(entities: list[tuple[BudgetEntity, str]]) -> object:
        if not going.done():
            await asyncio.shield(going)
            raise ValueError("too late")
        return await fetch(entities)

    world.database.fetch = stubborn  # type: ignore[method-assign]
    world.get(*TEAM)
    await until(lambda: world.database.dropped)
    assert not going.done()
    await going
    await world.settle()


async def test_others_are_asked_about_before_those_that_failed(world: World) -> None:
    world.database.error = ValueError("one of them makes trouble")
    for number in range(MAX_BATCH_ENTITIES):
        world.get(BudgetEntity.CUSTOMER, str(number))
    await until(lambda: world.database.asked)
    world.get(*TEAM)
    await until(lambda: len(world.database.asked) == 2)
    assert world.database.asked[1][0] == TEAM
    world.database.error = None
    await world.settle()


async def test_what_others_know_is_not_asked_again_and_what_is_learned_is_told_them(
    make_world: Callable[..., World],
) -> None:
    world = make_world(is_shared=True)
    world.shared.stored[TEAM] = Budget(world.now - 5.0, Source.REDIS, maximum=9.0, spend=1.0, never_resets=True)
    world.database.rows[BudgetEntity.USER, "u"] = (5.0, 0.0)
    for entity in (TEAM, (BudgetEntity.USER, "u"), (BudgetEntity.USER, "absent")):
        world.get(*entity)
    await world.settle()
    assert world.database.asked == [[(BudgetEntity.USER, "u"), (BudgetEntity.USER, "absent")]]
    found = world.get(*TEAM)
    assert found is not None
    assert (found.source, found.as_of) == (Source.REDIS, world.now - 5.0)
    assert world.shared.stored[BudgetEntity.USER, "u"].maximum == 5.0
    assert not world.shared.stored[BudgetEntity.USER, "absent"].exists


async def test_a_cache_that_fails_costs_nothing_but_itself(make_world: Callable[..., World]) -> None:
    world = make_world(is_shared=True)
    world.shared.error = ConnectionRefusedError()
    for number in range(FAILURE_THRESHOLD + 10):
        world.database.rows[BudgetEntity.TEAM, str(number)] = (5.0, 0.0)
        assert await world.known(BudgetEntity.TEAM, str(number)) is not None
        world.now += 0.5
    assert world.loader.breaker_states()[Source.REDIS] is BreakerState.OPEN
    assert len(world.shared.asked) < FAILURE_THRESHOLD + 5
    assert world.failures.counts[BudgetEntity.TEAM, Source.REDIS, DriverError.REFUSED] >= FAILURE_THRESHOLD
    assert world.failures.counts[BudgetEntity.TEAM, Source.REDIS, DriverError.CIRCUIT_OPEN] >= 5
    assert world.budgets.counts(world.now).statements == FAILURE_THRESHOLD + 10


async def test_a_cache_that_is_not_connected_yet_is_passed_by(make_world: Callable[..., World]) -> None:
    world = make_world(is_shared=True)
    world.shared.ready = False
    world.database.rows[TEAM] = (5.0, 0.0)
    assert await world.known(*TEAM) is not None
    assert world.shared.asked == []
    assert not world.failures.counts


async def test_while_the_database_fails_others_still_know(make_world: Callable[..., World]) -> None:
    world = make_world(is_shared=True)
    world.database.error = ConnectionRefusedError()
    world.get(BudgetEntity.USER, "unknown-to-others")
    await until(lambda: len(world.database.asked) > FAILURE_THRESHOLD)
    world.shared.stored[TEAM] = Budget(world.now, Source.REDIS, maximum=9.0, spend=1.0, never_resets=True)
    world.get(*TEAM)
    await until(lambda: world.get(*TEAM) is not None)
    assert world.loader.waiting == 1
    world.database.error = None
    await world.settle()


async def test_it_can_be_closed_in_the_midst_of_it(world: World) -> None:
    world.database.lets.clear()
    world.get(*TEAM)
    await until(lambda: world.database.asked)
    await world.budgets.close()
    assert world.database.is_closed
    assert world.loader.waiting == 0
    assert world.loader.request(TEAM) is False
