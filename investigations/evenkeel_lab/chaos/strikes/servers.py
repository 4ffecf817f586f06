"""Faults of Redis and Postgres."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
from redis.asyncio import Redis

from evenkeel_lab.errors import FaultNotCaused
from evenkeel_lab.stack.servers.postgres import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.chaos.fault import Strike
    from evenkeel_lab.chaos.rig import Rig
    from evenkeel_lab.chaos.tcp_link import TcpLink

# In each direction.
SLOW_SECONDS = 0.3
RETRY_SECONDS = 0.02
TERMINATE_OTHER_CONNECTIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> ALL($1::int[])"


def killed(part: str) -> Strike:
    """Kill a server. Connections to it are refused until it is started again."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        rig.parts.kill(part)
        async with _link(rig, part).refusing():
            try:
                yield
            finally:
                await rig.parts.restart(part)

    return strike


def hung(part: str) -> Strike:
    """Suspend a server: it keeps its connections, and does nothing."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        rig.parts.suspend(part)
        try:
            yield
        finally:
            rig.parts.resume(part)

    return strike


def slow(part: str) -> Strike:
    """Delay all that a server gets and sends."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        with _link(rig, part).slow(SLOW_SECONDS):
            yield

    return strike


def cut(part: str) -> Strike:
    """Reset all connections to a server, old ones and new ones."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        with _link(rig, part).cut():
            yield

    return strike


def _link(rig: Rig, part: str) -> TcpLink:
    return rig.redis if part == "valkey" else rig.postgres


def redis_commands(begin: str, end: str = "") -> Strike:
    """Send a command to Redis at the beginning, and one at the end."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        client: Any
        async with Redis.from_url(rig.redis_url_of(rig.plugin)) as client:
            if not await client.dbsize():
                raise FaultNotCaused("Redis has no key of the proxy.", hint="See whether the proxies use Redis.")
            await client.execute_command(*begin.split())
            try:
                yield
            finally:
                if end:
                    await client.execute_command(*end.split())

    return strike


def sql(begin: str, end: str) -> Strike:
    """Run SQL in the databases of both proxies at the beginning, and at the end."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        await _execute(rig, begin)
        try:
            yield
        finally:
            await _execute(rig, end)

    return strike


async def _execute(rig: Rig, statement: str) -> None:
    for subject in rig.subjects:
        connection = await connect(rig.direct_database_url(subject))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@asynccontextmanager
async def no_connections(rig: Rig) -> AsyncIterator[None]:
    """Take all connections of Postgres, also those that the proxies have and those that become free."""
    taken: list[asyncpg.Connection] = []
    is_full = asyncio.Event()
    url = rig.direct_database_url(rig.plugin)

    async def take_all() -> None:
        while True:
            try:
                taken.append(await connect(url))
            except (asyncpg.TooManyConnectionsError, asyncpg.CannotConnectNowError, OSError):
                is_full.set()
                await asyncio.sleep(RETRY_SECONDS)

    taking = asyncio.create_task(take_all())
    try:
        await is_full.wait()
        own = [connection.get_server_pid() for connection in taken]
        await taken[0].execute(TERMINATE_OTHER_CONNECTIONS.replace("$1", f"'{{{','.join(map(str, own))}}}'"))
        yield
        if not is_full.is_set():
            raise FaultNotCaused("Postgres still had connections.", hint="Raise the number that is taken.")
    finally:
        taking.cancel()
        await asyncio.wait([taking])
        for connection in taken:
            with contextlib.suppress(asyncpg.PostgresError, OSError):
                await connection.close()


@asynccontextmanager
async def password_changed(rig: Rig) -> AsyncIterator[None]:
    """Change the password of the database, and close all connections but the one that changes it back."""
    url = rig.direct_database_url(rig.plugin)
    address = urlsplit(url)
    connection = await connect(url)
    try:
        await connection.execute(f"ALTER ROLE {address.username} PASSWORD 'changed'")
        own = f"'{{{connection.get_server_pid()}}}'"
        await connection.execute(TERMINATE_OTHER_CONNECTIONS.replace("$1", own))
        yield
        with contextlib.suppress(asyncpg.PostgresError):
            await (await connect(url)).close()
            raise FaultNotCaused("Postgres still takes the former password.", hint="See pg_hba.conf: it may trust all.")
    finally:
        await connection.execute(f"ALTER ROLE {address.username} PASSWORD '{address.password}'")
        await connection.close()
