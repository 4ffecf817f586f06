"""Controls of operators in workers that share a real Valkey."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis
from sharing_worker import until

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.valkey import valkey
from litellm_evenkeel.rotation.controls.control_store import KEEP_ENDED_SECONDS, RedisControlStore
from litellm_evenkeel.rotation.controls.control_sync import ControlSync
from litellm_evenkeel.rotation.controls.control_table import ControlTable
from litellm_evenkeel.rotation.model.control import Control, ControlKind, Traffic
from litellm_evenkeel.support import clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KEY = ("north", ControlKind.TRAFFIC)
PAUSED = Control(account="north", kind=ControlKind.TRAFFIC, traffic=Traffic.PAUSED, by="anna", reason="tést")


@pytest.fixture(scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with stack_folder() as folder, valkey(folder, tmp_path_factory.mktemp("logs")) as server:
        yield server.url


def worker(address: str, prefix: str) -> ControlSync:
    return ControlSync(
        ControlTable(clock.unstepped), RedisControlStore(address, prefix, clock.unstepped), interval=0.05
    )


async def test_a_control_reaches_running_workers_and_those_that_start_later(address: str) -> None:
    workers = [worker(address, "first") for _ in range(3)]
    running = [asyncio.create_task(own.run()) for own in workers]
    try:
        assert await workers[0].put(PAUSED) is True
        await until(lambda: all(own.table.of_account("north") == (PAUSED,) for own in workers))
        late = worker(address, "first")
        await late.refresh()
        assert late.table.of_account("north") == (PAUSED,)
        assert await late.withdraw(KEY) is True
        await until(lambda: not any(own.table.of_account("north") for own in workers))
        await late.close()
    finally:
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        for own in workers:
            await own.close()


async def test_what_ended_days_ago_is_removed_and_a_flushed_server_gets_the_rest_back(address: str) -> None:
    own = worker(address, "ends")
    await own.refresh()
    ended = Control(
        account="south", kind=ControlKind.WEIGHT, number=2, until=clock.unstepped() - 2 * KEEP_ENDED_SECONDS
    )
    assert await own.put(ended) is True
    assert await own.put(PAUSED) is True
    await own.refresh()
    assert own.table.of_account("south") == ()
    async with Redis.from_url(address) as client:
        assert set(await client.hgetall("{ends}:controls")) == {b"epoch", b'["north", "traffic"]'}
        await client.flushdb()
        await own.refresh()
        assert own.table.of_account("north") == (PAUSED,)
        assert set(await client.hgetall("{ends}:controls")) == {b"epoch", b'["north", "traffic"]'}
    await own.close()


async def test_proxies_with_another_prefix_are_not_concerned(address: str) -> None:
    own, other = worker(address, "own"), worker(address, "other")
    await own.put(PAUSED)
    await other.refresh()
    assert other.table.of_account("north") == ()
    await own.close()
    await other.close()


async def test_a_store_that_is_away_is_no_error_for_the_operator() -> None:
    own = worker("redis://127.0.0.1:1", "away")
    assert await own.put(PAUSED) is False
    assert own.table.of_account("north") == (PAUSED,)
    await own.close()
