"""All that keep pins keep them alike: in memory, in a real Valkey and in a real Postgres."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import asyncpg
import psutil
import pytest
from memory_session_store import MemorySessionStore
from redis.asyncio import Redis

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres
from evenkeel_lab.stack.servers.valkey import valkey
from litellm_evenkeel.rotation.affinity.postgres_store import PRUNE_INTERVAL_SECONDS, PostgresSessionStore
from litellm_evenkeel.rotation.affinity.redis_store import RedisSessionStore
from litellm_evenkeel.rotation.affinity.replicator import FAILURE_THRESHOLD, SessionReplicator
from litellm_evenkeel.rotation.affinity.session_store import open_session_store
from litellm_evenkeel.rotation.affinity.session_table import PinChange
from litellm_evenkeel.rotation.settings import AffinitySettings, SessionBackend
from litellm_evenkeel.settings_schema.types import LITELLM, ServerUrl
from litellm_evenkeel.support.redis_connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from litellm_evenkeel.rotation.affinity.session_store import SessionStore

MINUTE = 60.0


@pytest.fixture(scope="module")
async def addresses(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[SessionBackend, str]]:
    logs = tmp_path_factory.mktemp("logs")
    async with stack_folder() as folder, valkey(folder, logs) as cache, Postgres(folder, logs) as database:
        yield {SessionBackend.REDIS: cache.url, SessionBackend.POSTGRES: database.url}


@pytest.fixture(params=SessionBackend)
async def pins(request: pytest.FixtureRequest, addresses: dict[SessionBackend, str]) -> AsyncIterator[SessionStore]:
    backend: SessionBackend = request.param
    await empty(addresses)
    address = ServerUrl(addresses.get(backend, LITELLM))
    kept = open_session_store(AffinitySettings(backend=backend, url=address), time.monotonic)
    kept = kept or MemorySessionStore(time.monotonic)
    yield kept
    await kept.close()


async def empty(addresses: dict[SessionBackend, str]) -> None:
    async with Redis.from_url(addresses[SessionBackend.REDIS]) as client:
        await client.flushdb()
    await ask(addresses, "DROP TABLE IF EXISTS evenkeel.pins")


async def ask(addresses: dict[SessionBackend, str], query: str) -> object:
    connection = await asyncpg.connect(addresses[SessionBackend.POSTGRES])
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.005)


async def test_a_pin_is_kept(pins: SessionStore) -> None:
    assert await pins.get("k") is None
    assert await pins.put("k", "ä-1", MINUTE, only_if_absent=True) == "ä-1"
    assert await pins.get("k") == "ä-1"
    assert await pins.get("other") is None


async def test_a_pin_to_another_account_stays_unless_it_is_to_be_replaced(pins: SessionStore) -> None:
    await pins.put("k", "a", MINUTE, only_if_absent=True)
    assert await pins.put("k", "b", MINUTE, only_if_absent=True) == "a"
    assert await pins.get("k") == "a"
    assert await pins.put("k", "b", MINUTE, only_if_absent=False) == "b"
    assert await pins.get("k") == "b"


async def test_a_pin_lapses_and_may_be_pinned_anew(pins: SessionStore) -> None:
    await pins.put("k", "a", 0.02, only_if_absent=True)
    await asyncio.sleep(0.05)
    assert await pins.get("k") is None
    assert await pins.put("k", "b", MINUTE, only_if_absent=True) == "b"


async def test_a_pin_goes_on_when_it_is_put_again(pins: SessionStore) -> None:
    await pins.put("k", "a", 0.02, only_if_absent=True)
    await pins.put("k", "a", MINUTE, only_if_absent=True)
    await asyncio.sleep(0.05)
    assert await pins.get("k") == "a"


async def test_a_dropped_account_loses_its_pins_and_nobody_else_does(pins: SessionStore) -> None:
    for number in range(700):
        await pins.put(f"a{number}", "a", MINUTE, only_if_absent=True)
    await pins.put("b", "b", MINUTE, only_if_absent=True)
    # It was another's for a while.
    await pins.put("moved", "a", MINUTE, only_if_absent=True)
    await pins.put("moved", "b", MINUTE, only_if_absent=False)
    await pins.drop_account("a")
    await pins.drop_account("absent")
    assert [await pins.get(key) for key in ("a0", "a699", "b", "moved")] == [None, None, "b", "b"]
    assert await pins.put("a0", "a", MINUTE, only_if_absent=True) == "a"


async def test_of_many_at_once_one_wins_and_all_hear_of_it(pins: SessionStore) -> None:
    told = await asyncio.gather(*(pins.put("k", str(one), MINUTE, only_if_absent=True) for one in range(20)))
    assert len(set(told)) == 1
    assert await pins.get("k") == told[0]


async def test_workers_that_start_together_make_one_table(addresses: dict[SessionBackend, str]) -> None:
    await empty(addresses)
    workers = [PostgresSessionStore(addresses[SessionBackend.POSTGRES], time.monotonic) for _ in range(6)]
    told = await asyncio.gather(*(one.put("k", "a", MINUTE, only_if_absent=True) for one in workers))
    assert told == ["a"] * 6
    for one in workers:
        await one.close()


async def test_what_has_lapsed_does_not_stay_in_the_database(addresses: dict[SessionBackend, str]) -> None:
    await empty(addresses)
    now = 0.0
    pins = PostgresSessionStore(addresses[SessionBackend.POSTGRES], lambda: now)
    for number in range(5):
        await pins.put(str(number), "a", 0.01, only_if_absent=True)
    await asyncio.sleep(0.03)
    now = PRUNE_INTERVAL_SECONDS
    await pins.put("new", "a", MINUTE, only_if_absent=True)
    assert await ask(addresses, "SELECT count(*) FROM evenkeel.pins") == 1
    await pins.close()


async def test_what_has_lapsed_does_not_stay_in_an_accounts_list(addresses: dict[SessionBackend, str]) -> None:
    await empty(addresses)
    now = 1000.0
    async with Redis.from_url(addresses[SessionBackend.REDIS]) as client:
        connection = RedisConnection(addresses[SessionBackend.REDIS], connect_timeout=1.0)
        pins = RedisSessionStore(connection, clock=lambda: now)
        await pins.put("old", "a", MINUTE, only_if_absent=True)
        now += MINUTE + 1
        await pins.put("new", "a", MINUTE, only_if_absent=True)
        assert await client.zcard("evenkeel:pins:a") == 1
        assert 0 < await client.pttl("evenkeel:pins:a") <= MINUTE * 1000
        await pins.close()


async def test_an_address_of_prismas_serves_too(addresses: dict[SessionBackend, str]) -> None:
    await empty(addresses)
    await ask(addresses, "CREATE SCHEMA IF NOT EXISTS prisma")
    url = addresses[SessionBackend.POSTGRES] + "&connection_limit=5&pool_timeout=3&schema=prisma"
    pins = PostgresSessionStore(url, time.monotonic)
    await pins.put("k", "a", MINUTE, only_if_absent=True)
    assert await ask(addresses, "SELECT account FROM evenkeel.pins") == "a"
    await pins.close()
    await ask(addresses, "DROP SCHEMA prisma CASCADE")


async def test_who_may_not_make_tables_uses_one_that_is_there(addresses: dict[SessionBackend, str]) -> None:
    await empty(addresses)
    owner = PostgresSessionStore(addresses[SessionBackend.POSTGRES], time.monotonic)
    await owner.put("k", "a", MINUTE, only_if_absent=True)
    await ask(addresses, "CREATE ROLE guest LOGIN PASSWORD 'guest'")
    await ask(addresses, "GRANT USAGE ON SCHEMA evenkeel TO guest")
    await ask(addresses, "GRANT SELECT, INSERT, UPDATE, DELETE ON evenkeel.pins TO guest")
    where = addresses[SessionBackend.POSTGRES].rpartition("@")[2]
    guest = PostgresSessionStore(f"postgresql://guest:guest@{where}", time.monotonic)
    assert await guest.get("k") == "a"
    await guest.close()
    await owner.close()
    await empty(addresses)
    await ask(addresses, "REVOKE USAGE ON SCHEMA evenkeel FROM guest")
    await ask(addresses, "DROP ROLE guest")


def test_a_secret_is_not_shown() -> None:
    address = ServerUrl("redis://:hush@127.0.0.1:1")
    assert "hush" not in repr(AffinitySettings(backend=SessionBackend.REDIS, url=address))


@contextlib.asynccontextmanager
async def sharing(address: str, backend: SessionBackend) -> AsyncIterator[SessionReplicator]:
    """A worker whose server holds a pin, and is known to answer."""
    settings = AffinitySettings(backend=backend, url=ServerUrl(address))
    kept = open_session_store(settings, time.monotonic)
    assert kept is not None
    replicator = SessionReplicator(kept, settings, lambda *_: None, time.monotonic)
    replicator.put(PinChange("k", "a", replaces=False))
    await until(lambda: replicator.counts.written == 1)
    assert await replicator.fetch("k") == "a"
    yield replicator
    await replicator.close()


@pytest.mark.parametrize("backend", [SessionBackend.REDIS, SessionBackend.POSTGRES])
async def test_a_server_that_dies_costs_no_request_anything(backend: SessionBackend, tmp_path: Path) -> None:
    async with stack_folder() as folder, contextlib.AsyncExitStack() as server:
        if backend is SessionBackend.REDIS:
            address = (await server.enter_async_context(valkey(folder, tmp_path))).url
        else:
            address = (await server.enter_async_context(Postgres(folder, tmp_path))).url
        async with sharing(address, backend) as replicator:
            await server.aclose()
            assert [await replicator.fetch(str(number)) for number in range(100)] == [None] * 100
            counts = replicator.counts
            assert not replicator.is_available
            assert (counts.failed, counts.skipped) == (FAILURE_THRESHOLD, 100 - FAILURE_THRESHOLD)
            assert address not in repr(counts)


@pytest.mark.parametrize("backend", [SessionBackend.REDIS, SessionBackend.POSTGRES])
async def test_a_server_that_hangs_holds_up_no_request(backend: SessionBackend, tmp_path: Path) -> None:
    async with stack_folder() as folder, contextlib.AsyncExitStack() as server:
        if backend is SessionBackend.REDIS:
            started = await server.enter_async_context(valkey(folder, tmp_path))
            pid, address = started.info.pid, started.url
        else:
            database = await server.enter_async_context(Postgres(folder, tmp_path))
            pid, address = database.info.pid, database.url
        async with sharing(address, backend) as replicator:
            main = psutil.Process(pid)
            hung = [main, *main.children(recursive=True)]
            for process in hung:
                process.suspend()
            try:
                # Much longer than the requests may wait, and shorter than the driver would.
                async with asyncio.timeout(4):
                    assert [await replicator.fetch(str(number)) for number in range(100)] == [None] * 100
            finally:
                for process in hung:
                    process.resume()
            assert replicator.counts.failed == FAILURE_THRESHOLD
            await until(lambda: replicator.is_available)
            assert await replicator.fetch("k") == "a"


async def test_a_restarted_postgres_is_used_again(tmp_path: Path) -> None:
    async with (
        stack_folder() as folder,
        Postgres(folder, tmp_path) as server,
        sharing(server.url, SessionBackend.POSTGRES) as replicator,
    ):
        restarting = asyncio.ensure_future(server.restart())
        while not restarting.done():
            await replicator.fetch("k")
            await asyncio.sleep(0.01)
        await restarting
        await until(lambda: replicator.is_available)
        assert await replicator.fetch("k") == "a"


async def test_a_valkey_that_was_silent_is_used_again(addresses: dict[SessionBackend, str]) -> None:
    await empty(addresses)
    address = addresses[SessionBackend.REDIS]
    async with sharing(address, SessionBackend.REDIS) as replicator, Redis.from_url(address) as client:
        await client.execute_command("CLIENT", "PAUSE", "500", "ALL")
        for _ in range(100):
            assert await replicator.fetch("k") in {None, "a"}
        assert not replicator.is_available
        await until(lambda: replicator.is_available)
        assert await replicator.fetch("k") == "a"
