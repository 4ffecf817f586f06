"""Limits, sessions and budgets in a real Redis Cluster and behind real Sentinels, also when a master is killed."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from sharing_worker import DEAD, WORKERS, Worker, clock, limits, most_within, press, until, working

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.valkey_group import ValkeyGroup, valkey_cluster, valkey_sentinels
from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source
from litellm_evenkeel.budgets.redis import RedisBudgets
from litellm_evenkeel.rotation.affinity.redis_store import RedisSessionStore
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.support.redis_connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

GROUPS = {"cluster": valkey_cluster, "sentinels": valkey_sentinels}
MINUTE = 60.0
# A server counts as dead after a second, and the others elect a new master within another one or two.
FAILOVER_SECONDS = 5.0


@pytest.fixture(scope="module", params=GROUPS)
async def group(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ValkeyGroup]:
    opened: Any = GROUPS[request.param]
    async with stack_folder() as folder, opened(folder, tmp_path_factory.mktemp("logs")) as running:
        yield running


async def test_workers_share_a_limit_and_cooldowns(group: ValkeyGroup) -> None:
    uses: list[float] = []
    async with working(group.url, limits(windows=[{"for": "3s", "requests": 60}])) as workers:
        assert all(worker.coordinator.counts().is_connected for worker in workers)
        await until(lambda: all(worker.coordinator.counts().is_listening for worker in workers))
        await asyncio.gather(*(press(worker, clock() + 2, uses) for worker in workers))
        assert 40 <= len(uses) <= 60
        reservation = await workers[0].ask(6.0)
        assert reservation
        workers[0].pool.fail(reservation, DEAD)
        await until(lambda: all(worker.state("a") is HealthState.QUARANTINED for worker in workers))


async def test_a_worker_that_starts_later_learns_of_cooldowns(group: ValkeyGroup) -> None:
    prefix, accounts = secrets.token_hex(4), {"a": Limits()}
    async with Worker(group.url, prefix, accounts) as first:
        reservation = await first.ask()
        assert reservation
        first.pool.fail(reservation, DEAD)
        await until(lambda: first.coordinator.counts().published == 1)
        async with Worker(group.url, prefix, accounts) as later:
            await until(lambda: later.state("a") is HealthState.QUARANTINED)


async def test_sessions_are_kept_and_dropped_by_account(group: ValkeyGroup) -> None:
    store = RedisSessionStore(RedisConnection(group.url, connect_timeout=2.0), secrets.token_hex(4))
    for number in range(40):
        assert await store.put(f"s{number}", "ab"[number % 2], MINUTE, only_if_absent=True) == "ab"[number % 2]
    assert await store.put("s0", "b", MINUTE, only_if_absent=True) == "a"
    await store.drop_account("a")
    assert [await store.get(f"s{number}") for number in range(4)] == [None, "b", None, "b"]
    await store.close()


async def test_budgets_are_shared(group: ValkeyGroup) -> None:
    now = time.time()
    budgets = RedisBudgets.open(group.url, time.time, ttl=MINUTE, negative_ttl=MINUTE, prefix=secrets.token_hex(4))
    entities = [(BudgetEntity.KEY, str(number)) for number in range(20)]
    stored = {entity: Budget(now, Source.REDIS, maximum=float(entity[1])) for entity in entities}
    await budgets.store(stored)
    assert await budgets.fetch(entities) == stored
    await budgets.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
async def test_a_limit_holds_while_the_master_is_killed(kind: str, tmp_path: Path) -> None:
    told = {name: Limits.of({"windows": [{"for": "5s", "requests": 200}]}, name) for name in "ab"}
    opened: Any = GROUPS[kind]
    uses: list[float] = []
    async with (
        stack_folder() as folder,
        opened(folder, tmp_path) as running,
        working(running.url, told, prefix="drill", settle=3.0) as workers,
    ):
        pressing = [asyncio.ensure_future(press(worker, clock() + 18, uses)) for worker in workers]
        await asyncio.sleep(4)
        master = await running.master_of("{drill}:shared")
        psutil.Process(master.info.pid).kill()
        killed = clock()
        await until(lambda: any(not worker.coordinator.counts().is_connected for worker in workers))
        await until(lambda: all(worker.coordinator.counts().is_connected for worker in workers))
        assert clock() - killed < FAILOVER_SECONDS + 1
        await asyncio.gather(*pressing)
        assert all(worker.coordinator.counts().workers == WORKERS for worker in workers)
        assert max(worker.longest for worker in workers) < 0.1
    # Both accounts together: the load is far above their limits, so each is at its own.
    assert most_within(uses, 5.0) <= 2 * 200 * 1.01
    assert len(uses) >= 2 * 200 * 2
    during = sum(killed < use < killed + FAILOVER_SECONDS for use in uses)
    assert during > 0
