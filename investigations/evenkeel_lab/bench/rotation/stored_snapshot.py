"""A load balancer that keeps its accounts in a database, and uses what it has read of them for a while.

The plugin keeps accounts in memory. This one reproduces the design that the seed about a load balancer of accounts
describes: a snapshot of accounts and of their newest usage, which is read again when it is too old, and rows of
requests that are written one by one.
"""

from __future__ import annotations

import asyncio
import math
import random
import sqlite3
import threading
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import asyncpg
import numpy as np

from evenkeel_lab.bench.journal_store.files import folder
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ACCOUNTS = 10
# A week of usage that is refreshed every minute.
USAGE_ROWS = 10_080
PROVIDER_SECONDS = 0.1
POOL = 10
FULL = 100.0
EDITED = 0
MS = 1000
TABLES = (
    "CREATE TABLE accounts (id INTEGER PRIMARY KEY, enabled INTEGER NOT NULL)",
    "CREATE TABLE usage (account INTEGER NOT NULL, at INTEGER NOT NULL, percent REAL NOT NULL)",
    "CREATE TABLE requests (account INTEGER NOT NULL, seconds REAL NOT NULL)",
)
READ_ACCOUNTS = "SELECT id FROM accounts WHERE enabled = 1"
READ_USAGE = (
    "SELECT account, percent FROM usage JOIN (SELECT account AS id, MAX(at) AS newest FROM usage GROUP BY account) "
    "AS latest ON account = id AND at = newest"
)
DISABLE, USE_UP = "UPDATE accounts SET enabled = 0 WHERE id = 0", "INSERT INTO usage VALUES (0, 1000000, 100.0)"
WRITE = "INSERT INTO requests VALUES (0, 0.1)"
EDITS = {"account": DISABLE, "usage": USE_UP}


class Store(Protocol):
    """A database with accounts and their usage."""

    async def read(self) -> list[int]:
        """Return the accounts that are enabled and have something left."""

    async def execute(self, statement: str) -> None:
        """Write something."""


def p95(seed: int, *, ttl: float, store: str = "sqlite", clients: int = 50, seconds: float = 20.0) -> float:
    """Return p95 in milliseconds of requests by clients in a loop; the snapshot is used for `ttl` seconds."""
    return asyncio.run(_p95(random.Random(seed), ttl, store, clients, seconds))


def seen_after(seed: int, *, ttl: float, store: str = "sqlite", edit: str = "account") -> float:
    """Return the milliseconds from an edit in the database until a request is given a snapshot that shows it.

    The edit is made at a random moment of the snapshot's life. It disables an account (`account`), or says that its
    usage is at 100 % (`usage`).
    """
    return asyncio.run(_seen_after(random.Random(seed), ttl, store, EDITS[edit]))


class _Balancer:
    """Accounts for requests, from a snapshot."""

    def __init__(self, store: Store, ttl: float, chance: random.Random) -> None:
        self._store, self._ttl, self._chance = store, ttl, chance
        self._snapshot: list[int] = []
        self.read_at = -math.inf

    async def request(self) -> list[int]:
        """Serve a request, and return the accounts of which one was picked."""
        loop = asyncio.get_running_loop()
        if loop.time() - self.read_at > self._ttl:
            # All requests that come before the answer read it too.
            self._snapshot = await self._store.read()
            self.read_at = loop.time()
        accounts = self._snapshot
        self._chance.choice(accounts)
        await asyncio.sleep(PROVIDER_SECONDS)
        await self._store.execute(WRITE)
        return accounts


async def _p95(chance: random.Random, ttl: float, name: str, clients: int, seconds: float) -> float:
    loop, latencies = asyncio.get_running_loop(), list[float]()
    async with _opened(name) as store:
        balancer, ends = _Balancer(store, ttl, chance), loop.time() + seconds

        async def client() -> None:
            while loop.time() < ends:
                began = loop.time()
                await balancer.request()
                latencies.append(loop.time() - began)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(clients):
                tasks.create_task(client())
    return float(np.quantile(latencies, 0.95)) * MS


async def _seen_after(chance: random.Random, ttl: float, name: str, edit: str) -> float:
    loop, seen_at = asyncio.get_running_loop(), math.inf
    async with _opened(name) as store:
        balancer = _Balancer(store, ttl, chance)
        await balancer.request()

        async def client() -> None:
            nonlocal seen_at
            while math.isinf(seen_at):
                if EDITED not in await balancer.request():
                    seen_at = min(seen_at, balancer.read_at)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(ACCOUNTS):
                tasks.create_task(client())
            await asyncio.sleep(chance.uniform(0.0, ttl))
            edited_at = loop.time()
            await store.execute(edit)
    return (seen_at - edited_at) * MS


@asynccontextmanager
async def _opened(name: str) -> AsyncIterator[Store]:
    if name not in STORES:
        raise WrongUse(f"There is no store {name!r}.", hint=f"One of {', '.join(STORES)}.")
    async with STORES[name]() as store:
        yield store


class _Sqlite:
    """A file, with a connection for each thread."""

    def __init__(self, path: Path) -> None:
        self._path, self._local = path, threading.local()
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN")
            for statement in TABLES:
                connection.execute(statement)
            connection.executemany("INSERT INTO accounts VALUES (?, 1)", [(number,) for number in range(ACCOUNTS)])
            rows = [(account, at, at % FULL) for at in range(USAGE_ROWS) for account in range(ACCOUNTS)]
            connection.executemany("INSERT INTO usage VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30.0, isolation_level=None, check_same_thread=False)

    def _own(self) -> sqlite3.Connection:
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
        return self._local.connection  # type: ignore[no-any-return]

    async def read(self) -> list[int]:
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[int]:
        accounts = [number for (number,) in self._own().execute(READ_ACCOUNTS).fetchall()]
        return _usable(accounts, self._own().execute(READ_USAGE).fetchall())

    async def execute(self, statement: str) -> None:
        await asyncio.to_thread(lambda: self._own().execute(statement))


class _Postgres:
    """A server, with a pool of connections."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def fill(self) -> None:
        """Create the tables, and the usage of a week."""
        async with self._pool.acquire() as connection:
            for statement in TABLES:
                await connection.execute(statement)
            await connection.copy_records_to_table("accounts", records=[(number, 1) for number in range(ACCOUNTS)])
            rows = [(account, at, at % FULL) for at in range(USAGE_ROWS) for account in range(ACCOUNTS)]
            await connection.copy_records_to_table("usage", records=rows)

    async def read(self) -> list[int]:
        async with self._pool.acquire() as connection:
            accounts = [row[0] for row in await connection.fetch(READ_ACCOUNTS)]
            return _usable(accounts, [(row[0], row[1]) for row in await connection.fetch(READ_USAGE)])

    async def execute(self, statement: str) -> None:
        await self._pool.execute(statement)


def _usable(accounts: list[int], usage: list[tuple[int, float]]) -> list[int]:
    used = dict(usage)
    return [account for account in accounts if used.get(account, 0.0) < FULL]


@asynccontextmanager
async def _sqlite() -> AsyncIterator[Store]:
    with folder(on_disk=True) as directory:
        yield _Sqlite(directory / "accounts.db")


@asynccontextmanager
async def _postgres() -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        directory = await stack.enter_async_context(stack_folder())
        server = await stack.enter_async_context(Postgres(directory, Path(directory)))
        pool = await stack.enter_async_context(asyncpg.create_pool(server.url, min_size=POOL, max_size=POOL))
        store = _Postgres(pool)
        await store.fill()
        yield store


STORES = {"sqlite": _sqlite, "postgres": _postgres}
