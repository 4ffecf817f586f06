"""Budgets as LiteLLM's own tables have them, in a real Postgres and behind a real Valkey."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import struct
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest
from redis.asyncio import Redis

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres
from evenkeel_lab.stack.servers.valkey import valkey
from litellm_evenkeel.budgets import BudgetCache, BudgetEntity, BudgetSettings, Source, open_budgets
from litellm_evenkeel.budgets.postgres import PostgresBudgets
from litellm_evenkeel.settings_schema.types import ServerUrl
from litellm_evenkeel.support.circuit_breaker import BreakerState
from litellm_evenkeel.support.driver_errors import DriverError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from litellm_evenkeel.budgets import Entity

# A second is what is allowed; the rest is for a machine that does other things as well.
SOON = 1.0 + 1.0
SHORT = BudgetSettings(ttl=1.0, negative_ttl=1.0)
KINDS = (BudgetEntity.KEY, BudgetEntity.TEAM, BudgetEntity.USER, BudgetEntity.ORG, BudgetEntity.CUSTOMER)
# 2027-01-15 08:00:00 UTC.
RESET = 1_800_000_000.0
# Of LiteLLM's migrations, what matters here.
TABLES = """
CREATE TABLE "LiteLLM_BudgetTable" (
    "budget_id" TEXT NOT NULL PRIMARY KEY, "max_budget" DOUBLE PRECISION, "budget_duration" TEXT,
    "budget_reset_at" TIMESTAMP(3)
);
CREATE TABLE "LiteLLM_OrganizationTable" (
    "organization_id" TEXT NOT NULL PRIMARY KEY, "organization_alias" TEXT NOT NULL,
    "budget_id" TEXT NOT NULL REFERENCES "LiteLLM_BudgetTable", "spend" DOUBLE PRECISION NOT NULL DEFAULT 0.0
);
CREATE TABLE "LiteLLM_TeamTable" (
    "team_id" TEXT NOT NULL PRIMARY KEY, "team_alias" TEXT, "max_budget" DOUBLE PRECISION,
    "spend" DOUBLE PRECISION NOT NULL DEFAULT 0.0, "budget_duration" TEXT, "budget_reset_at" TIMESTAMP(3)
);
CREATE TABLE "LiteLLM_UserTable" (
    "user_id" TEXT NOT NULL PRIMARY KEY, "user_alias" TEXT, "user_email" TEXT, "max_budget" DOUBLE PRECISION,
    "spend" DOUBLE PRECISION NOT NULL DEFAULT 0.0, "budget_duration" TEXT, "budget_reset_at" TIMESTAMP(3)
);
CREATE TABLE "LiteLLM_VerificationToken" (
    "token" TEXT NOT NULL PRIMARY KEY, "key_alias" TEXT, "spend" DOUBLE PRECISION NOT NULL DEFAULT 0.0,
    "max_budget" DOUBLE PRECISION, "budget_duration" TEXT, "budget_reset_at" TIMESTAMP(3), "budget_id" TEXT
);
CREATE TABLE "LiteLLM_EndUserTable" (
    "user_id" TEXT NOT NULL PRIMARY KEY, "alias" TEXT, "spend" DOUBLE PRECISION NOT NULL DEFAULT 0.0,
    "budget_id" TEXT REFERENCES "LiteLLM_BudgetTable", "blocked" BOOLEAN NOT NULL DEFAULT false
);
INSERT INTO "LiteLLM_BudgetTable" VALUES
    ('house', 100, '30d', '2027-01-15 08:00:00'), ('none', NULL, NULL, NULL), ('default', 7, '1d', NULL);
INSERT INTO "LiteLLM_VerificationToken" VALUES ('k', 'mine', 1.5, 10, '30d', '2027-01-15 08:00:00', 'house');
INSERT INTO "LiteLLM_TeamTable" VALUES ('t', 'ours', NULL, 3, NULL, NULL);
INSERT INTO "LiteLLM_UserTable" VALUES ('u', 'Ann', 'ann@example.com', 5, 6, '1d', '2027-01-15 08:00:00');
INSERT INTO "LiteLLM_OrganizationTable" VALUES ('o', 'House', 'house', 40), ('free', 'Free', 'none', 1);
INSERT INTO "LiteLLM_EndUserTable" VALUES ('c', 'Cy', 2, 'house'), ('plain', NULL, 4, NULL);
"""
# The server's own clock is none of our business.
ELSEWHERE = "ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'"


@contextlib.asynccontextmanager
async def database(logs: Path) -> AsyncIterator[Postgres]:
    async with stack_folder() as folder, Postgres(folder, logs) as server:
        await run(server.url, TABLES, ELSEWHERE)
        yield server


@pytest.fixture(scope="module")
async def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
async def server(logs: Path) -> AsyncIterator[Postgres]:
    async with database(logs) as running:
        yield running


@pytest.fixture(scope="module")
async def cache(logs: Path) -> AsyncIterator[str]:
    async with stack_folder() as folder, valkey(folder, logs) as running:
        yield running.url


@pytest.fixture
async def make(server: Postgres) -> AsyncIterator[Callable[..., BudgetCache]]:
    made: list[BudgetCache] = []

    def one(terms: BudgetSettings = SHORT, **more: Any) -> BudgetCache:
        made.append(open_budgets(terms, time.time, **{"database_url": lambda: server.url, **more}))
        return made[-1]

    yield one
    for each in made:
        await each.close()


async def run(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def until(holds: Callable[[], object], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.005)


async def settled(budgets: BudgetCache) -> None:
    await until(lambda: budgets.counts(time.time()).waiting == 0)
    await asyncio.sleep(0.01)


async def known(budgets: BudgetCache, *entity: Any) -> Any:
    budgets.get(*entity, time.time())
    await settled(budgets)
    return budgets.get(*entity, time.time())


def failures(budgets: BudgetCache) -> dict[tuple[Source, DriverError], int]:
    found: dict[tuple[Source, DriverError], int] = {}
    for (_, source, reason), count in budgets.counts(time.time()).failures.items():
        found[source, reason] = found.get((source, reason), 0) + count
    return found


async def test_each_kind_is_read_as_its_table_has_it(make: Callable[..., BudgetCache]) -> None:
    budgets = make()
    entities: list[Entity] = [
        *zip(KINDS, "ktuoc", strict=True),
        (BudgetEntity.ORG, "free"),
        (BudgetEntity.CUSTOMER, "plain"),
    ]
    for entity in entities:
        budgets.get(*entity, time.time())
    await settled(budgets)
    key, team, user, org, customer, free, plain = [budgets.get(*entity, time.time()) for entity in entities]
    assert key
    assert (key.maximum, key.spend, key.resets_at, key.alias) == (10.0, 1.5, RESET, "mine")
    assert team
    assert (team.is_unlimited, team.spend, team.never_resets, team.alias) == (True, 3.0, True, "ours")
    assert user
    assert (user.remaining, user.resets_at, user.alias, user.email) == (-1.0, RESET, "Ann", "ann@example.com")
    assert org
    assert (org.maximum, org.spend, org.resets_at, org.alias) == (100.0, 40.0, RESET, "House")
    assert customer
    assert (customer.remaining, customer.resets_at, customer.alias) == (98.0, RESET, "Cy")
    assert free
    assert (free.is_unlimited, free.never_resets) == (True, True)
    assert plain
    assert (plain.is_unlimited, plain.spend) == (True, 4.0)
    assert budgets.counts(time.time()).statements == 1


async def test_customers_without_a_budget_of_their_own_have_the_default_one(make: Callable[..., BudgetCache]) -> None:
    budgets = make(default_customer_budget=lambda: "default")
    plain, customer = (
        await known(budgets, BudgetEntity.CUSTOMER, "plain"),
        await known(budgets, BudgetEntity.CUSTOMER, "c"),
    )
    assert (plain.maximum, plain.remaining, customer.maximum) == (7.0, 3.0, 100.0)


async def test_who_is_not_there_does_not_exist_and_may_come(server: Postgres, make: Callable[..., BudgetCache]) -> None:
    budgets = make()
    found = await known(budgets, BudgetEntity.TEAM, "new")
    assert not found.exists
    await run(server.url, """INSERT INTO "LiteLLM_TeamTable" VALUES ('new', NULL, 5, 1)""")
    async with asyncio.timeout(10):
        while not (await known(budgets, BudgetEntity.TEAM, "new")).exists:
            await asyncio.sleep(0.05)
    assert budgets.get(BudgetEntity.TEAM, "new", time.time()).remaining == 4.0


async def test_a_thousand_events_for_500_cold_entities_are_a_few_statements(
    server: Postgres, logs: Path, make: Callable[..., BudgetCache]
) -> None:
    await run(server.url, "ALTER DATABASE postgres SET log_statement = 'all'")
    await asyncio.sleep(0.05)
    said = (logs / "postgres.log").stat().st_size
    budgets = make(BudgetSettings())
    for event in range(1000):
        for kind in KINDS:
            budgets.get(kind, f"cold-{event % 100}", time.time())
    await settled(budgets)
    assert all(not budgets.get(kind, f"cold-{number}", time.time()).exists for kind in KINDS for number in range(100))
    lines = (logs / "postgres.log").read_bytes()[said:].decode().splitlines()
    await run(server.url, "ALTER DATABASE postgres RESET log_statement")
    # As the server counts them: whatever the driver says to it besides is there, too.
    executed = [line for line in lines if "LOG:  statement:" in line or "LOG:  execute" in line]
    assert 1 <= len(executed) <= 5, executed
    assert budgets.counts(time.time()).statements <= 5


async def test_events_that_come_one_after_another_are_a_few_statements_too(make: Callable[..., BudgetCache]) -> None:
    budgets = make(BudgetSettings())
    # The first connection takes longer than that.
    await known(budgets, BudgetEntity.KEY, "warm")
    before = budgets.counts(time.time()).statements

    async def event(number: int) -> None:
        for kind in KINDS:
            budgets.get(kind, f"drop-{number % 100}", time.time())

    await asyncio.gather(*(event(number) for number in range(1000)))
    await settled(budgets)
    assert budgets.counts(time.time()).statements - before <= 5


async def test_it_reads_only_and_not_for_long(server: Postgres) -> None:
    tables = PostgresBudgets(lambda: server.url, time.time)
    await tables.fetch([(BudgetEntity.TEAM, "t")])
    async with tables._pool.acquire() as connection:
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connection.execute('DELETE FROM "LiteLLM_TeamTable"')
        assert await connection.fetchval("SHOW statement_timeout") == "500ms"
    await tables.close()


async def test_a_table_that_is_locked_is_a_timeout_and_then_known(
    server: Postgres, make: Callable[..., BudgetCache]
) -> None:
    budgets = make()
    assert (await known(budgets, BudgetEntity.USER, "u")).spend == 6.0
    holder = await asyncpg.connect(server.url)
    async with holder.transaction():
        await holder.execute('LOCK TABLE "LiteLLM_TeamTable" IN ACCESS EXCLUSIVE MODE')
        budgets.get(BudgetEntity.TEAM, "t", time.time())
        await until(lambda: (Source.POSTGRES, DriverError.TIMEOUT) in failures(budgets), SOON)
        assert budgets.get(BudgetEntity.USER, "u", time.time()).spend == 6.0
    await holder.close()
    assert (await known(budgets, BudgetEntity.TEAM, "t")).spend == 3.0


async def test_a_schema_of_prismas_is_searched(server: Postgres, make: Callable[..., BudgetCache]) -> None:
    await run(
        server.url,
        "CREATE SCHEMA prisma; SET search_path = prisma;" + TABLES + """UPDATE "LiteLLM_TeamTable" SET spend = 9""",
    )
    budgets = make(database_url=lambda: f"{server.url}&schema=prisma&connection_limit=5&pgbouncer=true")
    assert (await known(budgets, BudgetEntity.TEAM, "t")).spend == 9.0
    await run(server.url, "DROP SCHEMA prisma CASCADE")


async def test_what_is_wrong_is_told_by_its_reason_and_nothing_else(
    server: Postgres, make: Callable[..., BudgetCache], caplog: pytest.LogCaptureFixture
) -> None:
    await run(server.url, "CREATE SCHEMA empty", "CREATE ROLE guest LOGIN PASSWORD 'guest-hush'")
    where = server.url.rpartition("@")[2]
    addresses = {
        DriverError.SCHEMA: f"{server.url}&schema=empty",
        DriverError.DENIED: f"postgresql://guest:guest-hush@{where}",
    }
    caplog.set_level(logging.DEBUG)
    for reason, address in addresses.items():
        budgets = make(database_url=lambda address=address: address)
        budgets.get(BudgetEntity.TEAM, "recognisable", time.time())
        await until(lambda reason=reason, budgets=budgets: (Source.POSTGRES, reason) in failures(budgets), SOON)
        told = [one.getMessage() for one in caplog.records if one.name.startswith("litellm_evenkeel")]
        assert any(f"kind team could not be looked up in postgres: {reason} (" in one for one in told)
    budgets = make(database_url=lambda: f"postgresql://guest:wrong-hush@{where}")
    budgets.get(BudgetEntity.TEAM, "recognisable", time.time())
    await until(lambda: (Source.POSTGRES, DriverError.DENIED) in failures(budgets), SOON)
    silent(caplog, server.url, "recognisable", "hush", "guest")
    await run(server.url, "DROP SCHEMA empty", "DROP ROLE guest")


def silent(caplog: pytest.LogCaptureFixture, url: str, *secrets: str) -> None:
    """Check that no line has an id or a part of the address."""
    parts = urlsplit(url)
    never = (url, parts.password or url, f"{parts.hostname}:{parts.port}", str(parts.port), *secrets)
    for record in caplog.records:
        lines = record.getMessage(), str(record.exc_info), str(record.exc_text)
        assert not [one for one in never if any(one in line for line in lines)], record.getMessage()


async def test_a_password_that_was_rotated_is_read_anew(server: Postgres, make: Callable[..., BudgetCache]) -> None:
    await run(server.url, "CREATE ROLE reader LOGIN PASSWORD 'one'", "GRANT pg_read_all_data TO reader")
    where, password = server.url.rpartition("@")[2], "one"
    budgets = make(database_url=lambda: f"postgresql://reader:{password}@{where}")
    assert (await known(budgets, BudgetEntity.TEAM, "t")).spend == 3.0
    await run(
        server.url,
        "ALTER ROLE reader PASSWORD 'two'",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'",
    )
    password = "two"
    assert (await known(budgets, BudgetEntity.USER, "u")).spend == 6.0
    await budgets.close()
    await run(server.url, "DROP ROLE reader")


@contextlib.asynccontextmanager
async def strict_pooler(url: str, refused: bytes) -> AsyncIterator[str]:
    """A gate before a server that rejects session settings, like PgBouncer."""
    parts = urlsplit(url)

    async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while some := await source.read(65536):
                target.write(some)
                await target.drain()
        target.close()

    async def enter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!I", head := await reader.readexactly(4))
        start = await reader.readexactly(length - 4)
        if refused in start:
            fields = b"SFATAL\0C08P01\0Munsupported startup parameter\0\0"
            writer.write(b"E" + struct.pack("!I", len(fields) + 4) + fields)
            writer.close()
            return
        inner, outer = await asyncio.open_connection(parts.hostname, parts.port)
        outer.write(head + start)
        await asyncio.gather(pass_on(reader, outer), pass_on(inner, writer))

    gate = await asyncio.start_server(enter, "127.0.0.1", 0)
    async with gate:
        yield url.replace(f":{parts.port}/", f":{gate.sockets[0].getsockname()[1]}/")


async def test_behind_a_pooler_that_an_address_names_nothing_is_set_for_a_session(server: Postgres) -> None:
    named = f"{server.url}{'&' if '?' in server.url else '?'}pgbouncer=true"
    tables = PostgresBudgets(lambda: named, time.time)
    assert (await tables.fetch([(BudgetEntity.TEAM, "t")]))[BudgetEntity.TEAM, "t"].spend == 3.0
    holder = await asyncpg.connect(server.url)
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'litellm-evenkeel budgets'"
    assert not await holder.fetchval(sessions)
    async with holder.transaction():
        await holder.execute('LOCK TABLE "LiteLLM_TeamTable" IN ACCESS EXCLUSIVE MODE')
        with pytest.raises(asyncpg.QueryCanceledError):
            await tables.fetch([(BudgetEntity.TEAM, "t")])
    await holder.close()
    await tables.close()


async def test_behind_a_pooler_that_refuses_what_is_set_for_a_session(server: Postgres) -> None:
    async with strict_pooler(server.url, b"default_transaction_read_only") as url:
        tables = PostgresBudgets(lambda: url, time.time)
        found = await tables.fetch([(BudgetEntity.TEAM, "t"), (BudgetEntity.TEAM, "absent")])
        assert found[BudgetEntity.TEAM, "t"].spend == 3.0
        assert not found[BudgetEntity.TEAM, "absent"].exists
        # It still cannot hold the server up.
        holder = await asyncpg.connect(server.url)
        async with holder.transaction():
            await holder.execute('LOCK TABLE "LiteLLM_TeamTable" IN ACCESS EXCLUSIVE MODE')
            with pytest.raises(asyncpg.QueryCanceledError):
                await tables.fetch([(BudgetEntity.TEAM, "t")])
        await holder.close()
        assert (await tables.fetch([(BudgetEntity.USER, "u")]))[BudgetEntity.USER, "u"].spend == 6.0
        await tables.close()


async def asking(budgets: BudgetCache) -> None:
    """Ask all the time, as requests do."""
    for number in itertools.count():
        for kind in KINDS:
            budgets.get(kind, f"recognisable-{number % 50}", time.time())
        await asyncio.sleep(0.002)


@contextlib.asynccontextmanager
async def busy(budgets: BudgetCache) -> AsyncIterator[None]:
    requests = asyncio.ensure_future(asking(budgets))
    try:
        yield
        assert not requests.done()
    finally:
        requests.cancel()
        await asyncio.wait([requests])


async def fresh(budgets: BudgetCache, since: float) -> None:
    await until(lambda: (found := budgets.get(BudgetEntity.TEAM, "t", time.time())) and found.as_of >= since)


@contextlib.contextmanager
def hung(pid: int) -> Any:
    main = psutil.Process(pid)
    all_of_it = [main, *main.children(recursive=True)]
    for process in all_of_it:
        # One that was about to leave may be gone by now.
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in all_of_it:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


@pytest.mark.parametrize("is_connected", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_a_postgres_that_hangs_delays_nobody_and_values_come_back(
    server: Postgres, make: Callable[..., BudgetCache], caplog: pytest.LogCaptureFixture, *, is_connected: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    budgets = make()
    if is_connected:
        assert (await known(budgets, BudgetEntity.TEAM, "t")).spend == 3.0
    async with busy(budgets):
        with hung(server.info.pid):
            if is_connected:
                await asyncio.sleep(SHORT.ttl * 1.3)
            budgets.get(BudgetEntity.TEAM, "t", time.time())
            await until(lambda: (Source.POSTGRES, DriverError.TIMEOUT) in failures(budgets), SOON)
            assert [one for one in caplog.records if "could not be looked up in postgres: timeout" in one.getMessage()]
            last = budgets.get(BudgetEntity.TEAM, "t", time.time())
            assert last.spend == 3.0 if is_connected else last is None
            await until(lambda: budgets.counts(time.time()).sources[Source.POSTGRES] is not BreakerState.CLOSED)
        recovered = time.time()
        await fresh(budgets, recovered)
        assert time.time() - recovered < SHORT.ttl + SOON
        await until(lambda: budgets.counts(time.time()).sources[Source.POSTGRES] is BreakerState.CLOSED)
    silent(caplog, server.url, "recognisable")


async def test_a_postgres_that_is_killed_delays_nobody_and_values_come_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="litellm_evenkeel")
    async with database(tmp_path) as server:
        budgets = open_budgets(SHORT, time.time, database_url=lambda: server.url)
        assert (await known(budgets, BudgetEntity.TEAM, "t")).spend == 3.0
        async with busy(budgets):
            main = psutil.Process(server.info.pid)
            for process in [main, *main.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            await until(lambda: (Source.POSTGRES, DriverError.REFUSED) in failures(budgets), SOON)
            assert [one for one in caplog.records if "could not be looked up in postgres: refused" in one.getMessage()]
            await until(lambda: budgets.counts(time.time()).sources[Source.POSTGRES] is not BreakerState.CLOSED)
            assert budgets.get(BudgetEntity.TEAM, "t", time.time()).spend == 3.0
            await server.restart()
            recovered = time.time()
            await fresh(budgets, recovered)
            assert time.time() - recovered < SHORT.ttl + SOON
        silent(caplog, server.url, "recognisable")
        await budgets.close()


def sharing(cache: str) -> dict[str, Any]:
    settings = BudgetSettings(redis=ServerUrl(cache), ttl=5.0, negative_ttl=5.0)
    return {"terms": settings, "redis_url": cache}


async def connected(budgets: BudgetCache) -> BudgetCache:
    """Wait until it is connected to the cache."""
    await known(budgets, BudgetEntity.PROVIDER, "absent")
    await known(budgets, BudgetEntity.KEY, "first")
    await asyncio.sleep(0.2)
    return budgets


async def test_what_one_worker_has_looked_up_another_need_not(cache: str, make: Callable[..., BudgetCache]) -> None:
    one, other = await connected(make(**sharing(cache))), await connected(make(**sharing(cache)))
    assert (await known(one, BudgetEntity.TEAM, "t")).source is Source.POSTGRES
    assert not (await known(one, BudgetEntity.TEAM, "absent")).exists
    before = other.counts(time.time()).statements
    found = await known(other, BudgetEntity.TEAM, "t")
    assert (found.source, found.spend, found.alias) == (Source.REDIS, 3.0, "ours")
    assert found.as_of == one.get(BudgetEntity.TEAM, "t", time.time()).as_of
    assert not (await known(other, BudgetEntity.TEAM, "absent")).exists
    assert other.counts(time.time()).statements == before
    async with Redis.from_url(cache) as client:
        assert 0 < await client.pttl("evenkeel:budget:team:t") <= 4000
        await client.set("evenkeel:budget:user:u", "damaged")
    assert (await known(other, BudgetEntity.USER, "u")).source is Source.POSTGRES


@pytest.mark.parametrize("trouble", ["hangs", "dies"])
async def test_a_cache_in_trouble_costs_only_itself(
    trouble: str, make: Callable[..., BudgetCache], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with stack_folder() as folder, contextlib.AsyncExitStack() as stack:
        running = await stack.enter_async_context(valkey(folder, tmp_path))
        budgets = await connected(make(**sharing(running.url)))
        with contextlib.ExitStack() as end:
            if trouble == "hangs":
                end.enter_context(hung(running.info.pid))
            else:
                await stack.aclose()
            for number in range(20):
                found = await known(budgets, BudgetEntity.CUSTOMER, f"recognisable-{number}")
                assert not found.exists
                await asyncio.sleep(0.05)
            expected = DriverError.TIMEOUT if trouble == "hangs" else DriverError.REFUSED
            await until(lambda: (Source.REDIS, expected) in failures(budgets), SOON)
        assert not [one for one in failures(budgets) if one[0] is Source.POSTGRES]
        silent(caplog, running.url, "recognisable")
        await budgets.close()
