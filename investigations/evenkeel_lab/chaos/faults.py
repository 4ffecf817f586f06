"""The faults of the matrix. Each is an async context manager that strikes at its beginning and ends at its end."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import psutil
from redis.asyncio import Redis

from evenkeel_lab.chaos.small_disk import filled
from evenkeel_lab.chaos.traffic import leave_early
from evenkeel_lab.stack.litellm.fixtures import management_api
from evenkeel_lab.stack.servers.postgres import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from evenkeel_lab.chaos.rig import Rig

SHARED = "evenkeel_rotation_shared_connected"
LOOKUP_FAILURES = "evenkeel_budget_lookup_failures_total"
ATTEMPTS, COOLDOWNS = "evenkeel_rotation_attempts_total", "evenkeel_rotation_cooldown_seconds"
JOURNAL_FAILURES = "evenkeel_journal_failures_total"
REDIS_LOG, DATABASE_LOG, JOURNAL_LOG = "Redis for shared limits is unavailable", "could not be looked up", "journal in"
SLOW_SECONDS = 0.3
LEAVING_CLIENTS, LEAVE_AFTER_SECONDS = 60, 0.25
CONNECTIONS = 120
BUSY_SECONDS = 5.0
# Half of the accounts, so that the others could serve all requests.
STRUCK = ("account-0", "account-1", "account-2", "account-3")
LONG = 3600
OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"


@dataclass(frozen=True)
class Fault:
    """One fault, and how an operator sees it."""

    name: str
    about: str
    strike: Callable[[Rig], AbstractAsyncContextManager[None]]
    metric: str = ""
    """Metric of the plugin that has to change; empty if the plugin is not concerned."""
    log: str = ""
    """Words of a line that the plugin has to log; empty if it need not."""
    needs_disk: bool = False
    """Whether it needs a disk that can be filled."""
    is_quick: bool = False
    """Whether it is part of the selection for continuous integration."""


def _killed(part: str) -> Callable[[Rig], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        rig.parts.kill(part)
        try:
            yield
        finally:
            await rig.parts.restart(part)

    return strike


def _hung(part: str) -> Callable[[Rig], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        rig.parts.suspend(part)
        try:
            yield
        finally:
            rig.parts.resume(part)

    return strike


@asynccontextmanager
async def _redis_slow(rig: Rig) -> AsyncIterator[None]:
    with rig.redis.slow(SLOW_SECONDS):
        yield


@asynccontextmanager
async def _redis_cut(rig: Rig) -> AsyncIterator[None]:
    with rig.redis.cut():
        yield


@asynccontextmanager
async def _postgres_slow(rig: Rig) -> AsyncIterator[None]:
    with rig.postgres.slow(SLOW_SECONDS):
        yield


@asynccontextmanager
async def _postgres_cut(rig: Rig) -> AsyncIterator[None]:
    with rig.postgres.cut():
        yield


def _redis_commands(begin: str, end: str = "") -> Callable[[Rig], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        client: Any
        async with Redis.from_url(rig.ground.valkey.url) as client:
            await client.execute_command(*begin.split())
            try:
                yield
            finally:
                if end:
                    await client.execute_command(*end.split())

    return strike


def _sql(begin: str, end: str) -> Callable[[Rig], AbstractAsyncContextManager[None]]:
    """Run SQL in the databases of both proxies."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        await _execute(rig, begin)
        try:
            yield
        finally:
            await _execute(rig, end)

    return strike


async def _execute(rig: Rig, sql: str) -> None:
    for subject in rig.subjects:
        connection = await connect(rig.direct_database_url(subject))
        try:
            await connection.execute(sql)
        finally:
            await connection.close()


@asynccontextmanager
async def _no_connections(rig: Rig) -> AsyncIterator[None]:
    """Take all free connections of Postgres, and close those that it has."""
    taken: list[asyncpg.Connection] = []
    url = rig.direct_database_url(rig.plugin)
    try:
        first = await connect(url)
        taken.append(first)
        await first.execute(OTHERS)
        with contextlib.suppress(asyncpg.PostgresError, OSError):
            while len(taken) < CONNECTIONS:
                taken.append(await connect(url))
        yield
    finally:
        for connection in taken:
            await connection.close()


@asynccontextmanager
async def _postgres_password(rig: Rig) -> AsyncIterator[None]:
    """Change the password of the database, and close all connections but the one that changes it back."""
    url = rig.direct_database_url(rig.plugin)
    address = urlsplit(url)
    connection = await connect(url)
    try:
        await connection.execute(f"ALTER ROLE {address.username} PASSWORD 'changed'")
        await connection.execute(OTHERS)
        yield
    finally:
        await connection.execute(f"ALTER ROLE {address.username} PASSWORD '{address.password}'")
        await connection.close()


def _kill_children(is_wanted: Callable[[psutil.Process], bool]) -> Callable[[Rig], AbstractAsyncContextManager[None]]:
    """Kill one process of each proxy, which the proxy starts again."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        for subject in rig.subjects:
            children = psutil.Process(subject.proxy.info.pid).children(recursive=True)
            next(child for child in children if is_wanted(child)).kill()
        yield

    return strike


def _is_worker(process: psutil.Process) -> bool:
    return "multiprocessing" in " ".join(process.cmdline()) and "resource_tracker" not in " ".join(process.cmdline())


def _is_engine(process: psutil.Process) -> bool:
    return "engine" in " ".join(process.cmdline()).lower()


@asynccontextmanager
async def _disk_full(rig: Rig) -> AsyncIterator[None]:
    assert rig.disk is not None
    assert rig.plugin.proxy.journal is not None
    with contextlib.closing(sqlite3.connect(rig.plugin.proxy.journal, timeout=BUSY_SECONDS)) as journal:
        # SQLite reuses the space of its log. With an empty log, the next record needs room.
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with filled(rig.disk):
            yield


@asynccontextmanager
async def _clock_jumps(rig: Rig) -> AsyncIterator[None]:
    rig.clock.touch()
    try:
        yield
    finally:
        rig.clock.unlink()


def _provider(**fault: Any) -> Callable[[Rig], AbstractAsyncContextManager[None]]:
    """Return a fault of half of the provider's accounts."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        await rig.post_faults(*({"at": 0, "for": LONG, "account": account, **fault} for account in STRUCK))
        try:
            yield
        finally:
            await rig.post_faults()

    return strike


@asynccontextmanager
async def _clients_leave(rig: Rig) -> AsyncIterator[None]:
    leaving = [
        asyncio.ensure_future(leave_early(subject, LEAVING_CLIENTS, LEAVE_AFTER_SECONDS)) for subject in rig.subjects
    ]
    try:
        yield
    finally:
        await asyncio.gather(*leaving)


@asynccontextmanager
async def _deployments_change(rig: Rig) -> AsyncIterator[None]:
    """Add and delete deployments while requests come in."""

    async def change(number: int) -> None:
        async with management_api(rig.subjects[number].proxy) as api:
            while True:
                name = f"temporary-{number}"
                await api.post(
                    "/model/new",
                    model_name="gpt-4o-mini",
                    litellm_params={
                        "model": "openai/gpt-4o-mini",
                        "api_base": f"{rig.ground.mock.url}/v1",
                        "api_key": "sk-mock-account-0",
                    },
                    model_info={"id": name},
                )
                await api.post("/model/delete", id=name)
                await asyncio.sleep(0.5)

    changing = [asyncio.ensure_future(change(number)) for number in range(len(rig.subjects))]
    try:
        yield
    finally:
        for task in changing:
            task.cancel()
        await asyncio.wait(changing)


@asynccontextmanager
async def _nothing(_: Rig) -> AsyncIterator[None]:
    yield


def _at_provider(name: str, what: str, metric: str, *, is_quick: bool = False, **fault: Any) -> Fault:
    return Fault(name, f"half of the accounts {what}", _provider(**fault), metric, is_quick=is_quick)


def _refusing(name: str, how: str, **fault: Any) -> Fault:
    return _at_provider(name, f"refuse {how}", ATTEMPTS, status=429, **fault)


FAULTS = (
    Fault("nothing", "no fault, for comparison", _nothing, is_quick=True),
    Fault("redis_killed", "Redis is killed", _killed("valkey"), SHARED, REDIS_LOG, is_quick=True),
    Fault("redis_hung", "Redis hangs", _hung("valkey"), SHARED, REDIS_LOG, is_quick=True),
    Fault("redis_slow", "Redis responds 0.6 s late", _redis_slow, SHARED, REDIS_LOG),
    Fault("redis_cut", "the connections to Redis are cut", _redis_cut, SHARED, REDIS_LOG),
    Fault(
        "redis_read_only",
        "Redis is read-only, as a replica",
        _redis_commands("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
        SHARED,
        REDIS_LOG,
    ),
    Fault("redis_flushed", "Redis loses all keys", _redis_commands("FLUSHALL")),
    Fault(
        "redis_full",
        "Redis is out of memory",
        _redis_commands("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        SHARED,
        REDIS_LOG,
    ),
    Fault("postgres_killed", "Postgres is killed", _killed("postgres"), LOOKUP_FAILURES, DATABASE_LOG, is_quick=True),
    Fault("postgres_hung", "Postgres hangs", _hung("postgres"), LOOKUP_FAILURES, DATABASE_LOG, is_quick=True),
    Fault("postgres_slow", "Postgres responds 0.6 s late", _postgres_slow, LOOKUP_FAILURES, DATABASE_LOG),
    Fault("postgres_cut", "the connections to Postgres are cut", _postgres_cut, LOOKUP_FAILURES, DATABASE_LOG),
    Fault(
        "postgres_connections",
        "Postgres has no connection left",
        _no_connections,
        LOOKUP_FAILURES,
        DATABASE_LOG,
    ),
    Fault(
        "postgres_password",
        "the password of Postgres is changed",
        _postgres_password,
        LOOKUP_FAILURES,
        DATABASE_LOG,
    ),
    Fault(
        "schema_older",
        "a column is missing, as with an older schema",
        _sql(
            'ALTER TABLE "LiteLLM_BudgetTable" RENAME COLUMN max_budget TO max_budget_gone',
            'ALTER TABLE "LiteLLM_BudgetTable" RENAME COLUMN max_budget_gone TO max_budget',
        ),
        LOOKUP_FAILURES,
        DATABASE_LOG,
    ),
    Fault(
        "schema_newer",
        "there are more columns, as with a newer schema",
        _sql(
            'ALTER TABLE "LiteLLM_TeamTable" ADD COLUMN of_the_future text',
            'ALTER TABLE "LiteLLM_TeamTable" DROP COLUMN of_the_future',
        ),
    ),
    _at_provider("provider_hangs", "hang", ATTEMPTS, is_quick=True, fault="hang"),
    _at_provider("provider_resets", "reset streams", ATTEMPTS, fault="reset=2"),
    _at_provider("provider_garbage", "send broken JSON and broken events", ATTEMPTS, fault="malformed"),
    _at_provider("provider_429", "refuse", COOLDOWNS, is_quick=True, status=429, retry_after=2),
    _at_provider("provider_401", "have a revoked key", COOLDOWNS, status=401),
    _refusing("retry_after_negative", "with `Retry-After: -1`", raw_retry_after="-1"),
    _refusing("retry_after_huge", "with `Retry-After: 1000000000000`", raw_retry_after="1000000000000"),
    _refusing("retry_after_1970", "with a `Retry-After` of 1970", raw_retry_after="Thu, 01 Jan 1970 00:00:00 GMT"),
    _refusing("retry_after_9999", "with a `Retry-After` of 9999", raw_retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
    _refusing("error_body_1mb", "with a body of 1 MB", body_kb=1000),
    _refusing("headers_64kb", "with 64 kB of headers", header_kb=64),
    _refusing("encoding_wrong", "in UTF-16", encoding="utf-16"),
    _refusing("gzip_wrong", "and announce a compression that they do not use", encoding="gzip"),
    Fault("worker_killed", "one of two workers is killed", _kill_children(_is_worker)),
    Fault("engine_killed", "Prisma's engine is killed", _kill_children(_is_engine)),
    Fault(
        "disk_full",
        "the disk of journal and metrics is full",
        _disk_full,
        JOURNAL_FAILURES,
        JOURNAL_LOG,
        needs_disk=True,
        is_quick=True,
    ),
    Fault("clock_jumps", "the clock jumps an hour ahead, and back", _clock_jumps),
    Fault("clients_leave", "60 clients leave in the middle of a stream", _clients_leave),
    Fault("deployments_change", "deployments are added and deleted", _deployments_change),
)
"""All faults of the matrix, in the order in which they are tried."""
