"""Workers that share a real Valkey: limits that hold for all, holds that all know of, and a server that dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import secrets
import statistics
import time
from typing import TYPE_CHECKING

import psutil
import pytest
from redis.asyncio import Redis
from sharing_worker import DEAD, WORKERS, Worker, clock, limits, most_within, press, until, working

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.valkey import valkey
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import Usage
from litellm_evenkeel.rotation.quota_sharing import redis_store
from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownMessage, encode
from litellm_evenkeel.rotation.quota_sharing.redis_store import RedisLeaseStore
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate, HealthState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture(scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with stack_folder() as folder, valkey(folder, tmp_path_factory.mktemp("logs")) as server:
        yield server.url


@pytest.mark.slow
async def test_four_that_press_never_exceed_a_limit_and_use_it(address: str) -> None:
    told = limits(windows=[{"for": "3s", "requests": 60}, {"for": "7d", "requests": 170}])
    uses: list[float] = []
    async with working(address, told) as workers:
        ends = clock() + 7
        await asyncio.gather(*(press(worker, ends, uses) for worker in workers))
        assert all(worker.coordinator.counts().workers == WORKERS for worker in workers)
    assert most_within(uses, 3.0) <= 60
    assert 110 <= len(uses) <= 170


async def test_tokens_that_were_reserved_and_not_used_are_everybodys_again(address: str) -> None:
    async with working(address, limits(tpm=1000), 2) as (first, second):
        await until(lambda: first.pick(900) is not None)
        reservation = next(iter(next(iter(first.pool.deployments.values())).reservations))
        assert await second.ask(0.3)
        assert second.pick(900) is None
        first.pool.settle(reservation, Usage(1, 10))
        await until(lambda: second.pick(900) is not None)


@pytest.mark.parametrize("concurrent", [1, 6])
async def test_never_more_are_under_way_than_an_account_bears_and_nobody_starves(address: str, concurrent: int) -> None:
    under_way, most, served = 0, 0, [0] * WORKERS

    async def serve(number: int, worker: Worker, ends: float) -> None:
        nonlocal under_way, most
        while clock() < ends:
            reservation = await worker.ask(0.2)
            if reservation is None:
                continue
            under_way += 1
            most = max(most, under_way)
            served[number] += 1
            await asyncio.sleep(0.01 + 0.02 * random.random())
            under_way -= 1
            worker.pool.settle(reservation, Usage(1))

    # A busy machine may need more than a tenth of a second for an answer; without one, workers use local shares.
    async with working(address, limits(concurrent=concurrent), timeout=2.0) as workers:
        ends = clock() + 4
        await asyncio.gather(*(serve(number, one, ends) for number, one in enumerate(workers) for _ in range(3)))
        assert not any(worker.coordinator.counts().outages for worker in workers)
    assert most == concurrent
    assert min(served) >= 1, served


async def test_what_a_dead_worker_held_comes_back(address: str) -> None:
    prefix = secrets.token_hex(4)
    terms = {"heartbeat": 0.1, "gone": 0.4}
    dying = Worker(address, prefix, limits(concurrent=2), **terms)
    async with Worker(address, prefix, limits(concurrent=2), **terms) as other:
        await dying.coordinator.start(dying.pool)
        assert await dying.ask()
        assert await dying.ask()
        assert await other.ask(0.5) is None
        for task in dying.coordinator._tasks:
            task.cancel()
        assert await other.ask()
        assert await other.ask()
    await dying.coordinator.stop()


async def test_a_failure_is_known_to_all_at_once_and_to_who_comes_later(address: str) -> None:
    names = [str(number) for number in range(9)]
    accounts = {name: Limits() for name in names}
    prefix, took = secrets.token_hex(4), []
    async with Worker(address, prefix, accounts) as first, Worker(address, prefix, accounts) as second:
        await until(lambda: first.coordinator.counts().is_listening and second.coordinator.counts().is_listening)
        for name in names:
            reservation = await first.ask()
            assert reservation
            account = reservation.deployment.spec.account
            began = clock()
            first.pool.fail(reservation, DEAD)
            await until(lambda name=account: second.state(name) is HealthState.QUARANTINED)  # type: ignore[misc]
            took.append(clock() - began)
        assert statistics.median(took) < 0.25
        async with Worker(address, prefix, accounts) as later:
            await until(lambda: all(later.state(name) is HealthState.QUARANTINED for name in names))
            later.pool.release_account("3")
            await until(lambda: first.state("3") is not HealthState.QUARANTINED)
            await until(lambda: second.state("3") is not HealthState.QUARANTINED)
        async with Worker(address, prefix, accounts) as last:
            await until(lambda: last.state("4") is HealthState.QUARANTINED)
            assert last.state("3") is HealthState.HEALTHY
        assert first.coordinator.counts().damaged == 0


async def test_cooldowns_that_have_ended_are_deleted(address: str) -> None:
    prefix = secrets.token_hex(4)
    store = RedisLeaseStore(address, prefix, 1.0)

    def message(model: str, until: float) -> CooldownMessage:
        update = CooldownUpdate("a", model, FailureKind.RATE_LIMIT, "", until, is_provider_stated=True)
        return encode(update, "me", time.time())

    await store.publish([message("ended", time.time() - 1), message("lasting", time.time() + 60)])
    assert len(await store.history()) == 2
    async with Redis.from_url(address) as client:
        await client.delete(f"{{{prefix}}}:cooldowns-pruned")
    await store.publish([message("new", time.time() + 60)])
    assert {json.loads(text)["model"] for text in await store.history()} == {"lasting", "new"}
    await store.close()


async def test_what_is_left_of_a_dead_key_concerns_nobody_who_uses_another(address: str) -> None:
    prefix, accounts = secrets.token_hex(4), limits()
    async with Worker(address, prefix, accounts, credential="old") as first:
        await until(lambda: first.coordinator.counts().is_listening)
        reservation = await first.ask()
        assert reservation
        first.pool.fail(reservation, DEAD)
        await until(lambda: first.coordinator.counts().published == 1)
    async with (
        Worker(address, prefix, accounts, credential="new") as renewed,
        Worker(address, prefix, accounts, credential="old") as same,
    ):
        await until(lambda: same.state("a") is HealthState.QUARANTINED)
        await until(lambda: renewed.coordinator.counts().received == 1)
        assert await renewed.ask()
        assert renewed.state("a") is HealthState.HEALTHY


async def test_who_hears_nothing_for_long_still_listens(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_store, "LISTEN_TIMEOUT_SECONDS", 0.1)
    async with working(address, {"a": Limits()}, 2) as (first, second):
        await until(lambda: first.coordinator.counts().is_listening and second.coordinator.counts().is_listening)
        await asyncio.sleep(0.6)
        assert second.coordinator.counts().is_listening
        reservation = await first.ask()
        assert reservation
        first.pool.fail(reservation, DEAD)
        await until(lambda: second.state("a") is HealthState.QUARANTINED)


async def test_words_that_nobody_understands_are_counted(address: str) -> None:
    async with working(address, limits(rpm=5), 1) as (worker,), Redis.from_url(address) as client:
        await until(lambda: worker.coordinator.counts().is_listening)
        channel = (await client.pubsub_channels())[0]
        words = [b"\xff", "[]", "{}", '{"v": 1, "from": "x", "account": 3}', "9" * 5000, '{"v": 99, "from": "x"}']
        for text in words:
            await client.publish(channel, text)
        await until(lambda: worker.coordinator.counts().damaged == len(words))
        assert worker.coordinator.counts().received == 0
        assert await worker.ask()


async def test_a_server_that_is_killed_costs_no_request_and_tells_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = {name: Limits.of({"rpm": 600, "concurrent": 40}, name) for name in "abcd"}
    async with stack_folder() as folder, valkey(folder, tmp_path) as server, working(server.url, told) as workers:
        failed, took = 0, [0.0]
        with caplog.at_level(logging.WARNING):
            for step in range(300):
                if step == 100:
                    psutil.Process(server.info.pid).kill()
                worker = workers[step % WORKERS]
                began = clock()
                reservation = await worker.ask()
                took.append(clock() - began)
                failed += reservation is None
                if reservation:
                    worker.pool.settle(reservation, Usage(1))
                await asyncio.sleep(0.005)
        assert failed == 0
        assert statistics.median(took) < 0.02
        assert max(worker.longest for worker in workers) < 0.1
        for worker in workers:
            counts = worker.coordinator.counts()
            assert (counts.is_connected, counts.is_local, counts.outages) == (False, True, 1)
            assert sum(counts.errors.values()) >= 1
        secret = server.url.split("@")[0].rpartition(":")[2]
        told_of = [record.getMessage() for record in caplog.records if record.name == "litellm_evenkeel.rotation"]
        assert len(told_of) == WORKERS
        assert not any(secret in text or str(server.url.rpartition(":")[2]) in text for text in told_of)


@contextlib.asynccontextmanager
async def hung(pid: int) -> AsyncIterator[None]:
    psutil.Process(pid).suspend()
    try:
        yield
    finally:
        psutil.Process(pid).resume()


@pytest.mark.slow
async def test_a_server_that_hangs_holds_up_nobody_and_the_limit_holds_before_and_after(tmp_path: Path) -> None:
    told = limits(windows=[{"for": "4s", "requests": 80}])
    uses: list[float] = []
    async with stack_folder() as folder, valkey(folder, tmp_path) as server, working(server.url, told) as workers:
        ends = clock() + 10
        pressing = [asyncio.ensure_future(press(worker, ends, uses)) for worker in workers]
        await asyncio.sleep(3)
        async with hung(server.info.pid):
            await until(lambda: not any(worker.coordinator.counts().is_connected for worker in workers))
            before = len(uses)
            await asyncio.sleep(2)
            assert len(uses) > before
        await until(lambda: not any(worker.coordinator.counts().is_local for worker in workers))
        await asyncio.gather(*pressing)
        assert max(worker.longest for worker in workers) < 0.1
    assert most_within(uses, 4.0) <= 80 * 1.1
    assert len(uses) >= 130


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["SCRIPT FLUSH", "FLUSHALL", "REPLICAOF 127.0.0.1 1", "CLIENT KILL TYPE normal"],
)
async def test_whatever_a_server_forgets_or_refuses_the_limit_holds_and_all_come_back(
    command: str, tmp_path: Path
) -> None:
    told = limits(windows=[{"for": "4s", "requests": 80}])
    uses: list[float] = []
    async with stack_folder() as folder, valkey(folder, tmp_path) as server, working(server.url, told) as workers:
        ends = clock() + 9
        pressing = [asyncio.ensure_future(press(worker, ends, uses)) for worker in workers]
        await asyncio.sleep(2.5)
        async with Redis.from_url(server.url) as client:
            await client.execute_command(*command.split())
            await asyncio.sleep(1)
            await client.execute_command("REPLICAOF", "NO", "ONE")
        await until(lambda: all(one.coordinator.counts().is_connected for one in workers))
        await until(lambda: not any(one.coordinator.counts().is_local for one in workers))
        await asyncio.gather(*pressing)
    assert most_within(uses, 4.0) <= 80 * 1.02
    assert len(uses) >= 120


async def test_quarantines_outlive_a_server_that_forgets(tmp_path: Path) -> None:
    async with stack_folder() as folder, valkey(folder, tmp_path) as server:
        prefix = secrets.token_hex(4)
        async with Worker(server.url, prefix, {"a": Limits(), "b": Limits()}) as worker:
            reservation = await worker.ask()
            assert reservation
            worker.pool.fail(reservation, DEAD)
            await until(lambda: worker.coordinator.counts().published == 1)
            async with Redis.from_url(server.url) as client:
                await client.flushall()
            await until(lambda: worker.coordinator.counts().published == 2)
            async with Worker(server.url, prefix, {"a": Limits(), "b": Limits()}) as later:
                await until(lambda: later.state(reservation.deployment.spec.account) is HealthState.QUARANTINED)


async def test_without_a_server_from_the_start_each_takes_its_part() -> None:
    worker = Worker("redis://:hush@127.0.0.1:1/0", "p", limits(rpm=40), workers=4)
    began = clock()
    await worker.coordinator.start(worker.pool, wait_seconds=0.1)
    assert clock() - began < 2
    assert sum(worker.pick() is not None for _ in range(40)) == 10
    assert not worker.coordinator.counts().is_connected
    await worker.coordinator.stop()


async def test_nothing_is_left_running(address: str) -> None:
    before = asyncio.all_tasks()
    async with working(address, limits(rpm=100)) as workers:
        for worker in workers:
            await worker.ask()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
