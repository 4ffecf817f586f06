"""Counters of a subject: they are read before a run and after it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import httpx
import psutil
from asyncpg import PostgresError
from redis.asyncio import Redis

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.ports import LOOPBACK
from evenkeel_lab.stack.servers.postgres import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from evenkeel_lab.stack.servers.postgres import Connection

MIB = 2**20
# Every server has a database of this name.
DEFAULT_DATABASE = "postgres"
TIMEOUT_SECONDS = 10.0
LOOKS, AT_ONCE = 10, 4
STATISTICS = ("xact_commit", "xact_rollback", "tup_fetched", "blks_hit", "blks_read", "deadlocks", "temp_files")

WAITS = """
    SELECT coalesce(wait_event_type || ':' || wait_event, 'active') AS what, count(*)
    FROM pg_stat_activity
    WHERE datname = $1 AND state = 'active' AND pid <> pg_backend_pid()
    GROUP BY 1
"""


@dataclass(frozen=True)
class Spent:
    """CPU time, context switches and memory of a process and its descendants."""

    cpu: Mapping[str, float]
    """Seconds by program name."""
    switches: int
    memory_mib: float

    def since(self, before: Spent) -> Spent:
        """Return the increase since `before`; memory is the current one."""
        cpu = {name: seconds - before.cpu.get(name, 0.0) for name, seconds in self.cpu.items()}
        return Spent(cpu, self.switches - before.switches, self.memory_mib)

    @property
    def total(self) -> float:
        """CPU seconds of all programs."""
        return sum(self.cpu.values())


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and its descendants."""
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess as error:
        raise RigFailure(f"The measured process {pid} has ended.", hint="Its log may say why.") from error
    return [process, *process.children(recursive=True)]


def spent(pid: int) -> Spent:
    """Read the counters of a process and its descendants."""
    cpu: dict[str, float] = {}
    switches, memory = 0, 0.0
    for process in tree(pid):
        # A process that ends during the reading does not matter.
        with contextlib.suppress(psutil.NoSuchProcess), process.oneshot():
            times, name = process.cpu_times(), process.name()
            cpu[name] = cpu.get(name, 0.0) + times.user + times.system
            switches += sum(process.num_ctx_switches())
            memory += process.memory_info().rss / MIB
    return Spent(cpu, switches, memory)


async def database(url: str) -> dict[str, int]:
    """Read the statistics of Postgres for a database."""
    async with _connect_beside(url) as (connection, name):
        row = await connection.fetchrow("SELECT * FROM pg_stat_database WHERE datname = $1", name)
    return {name: int(row[name]) for name in STATISTICS}


async def operations(engines: Path) -> dict[str, int]:
    """Read the number of operations of a proxy's query engines, by table and action; Prisma's own engine has none."""
    counts: Counter[str] = Counter()
    async with client(seconds=TIMEOUT_SECONDS) as asking:
        for entry in engines.glob("*.json"):
            port = json.loads(entry.read_text(encoding="utf-8"))["port"]
            answer = await asking.get(f"http://{LOOPBACK}:{port}/evenkeel/operations")
            for operation in answer.json():
                counts[".".join(filter(None, (operation["model"], operation["action"])))] += operation["count"]
    return dict(counts)


async def waits(url: str) -> dict[str, int]:
    """Count a proxy's active connections to Postgres by what they wait for; `active` if they do not wait."""
    async with _connect_beside(url) as (connection, name):
        rows = await connection.fetch(WAITS, name)
    return {row["what"]: int(row["count"]) for row in rows}


@contextlib.asynccontextmanager
async def _connect_beside(url: str) -> AsyncIterator[tuple[Connection, str]]:
    """Connect to another database of the server, so that our queries are not counted; to `url` itself if that fails."""
    name = urlsplit(url).path.lstrip("/")
    try:
        connection = await connect(urlsplit(url)._replace(path=f"/{DEFAULT_DATABASE}").geturl())
    except PostgresError:
        connection = await connect(url)
    try:
        yield connection, unquote(name)
    finally:
        await connection.close()


async def locked(url: str, key: str, workers: int) -> dict[str, int] | None:
    """Read the number of journal writes that found the file locked, by worker; `None` unless all workers answer."""
    counts: dict[str, int] = {}
    # Each request has its own connection, which any worker may accept.
    limits = httpx.Limits(max_keepalive_connections=0)
    headers = {"Authorization": f"Bearer {key}"}
    async with client(seconds=TIMEOUT_SECONDS, base_url=url, headers=headers, limits=limits) as asking:
        for _ in range(LOOKS):
            # At the same time: one after the other, the same worker might accept all of them.
            requests = (asking.get("/evenkeel/journal/health") for _ in range(AT_ONCE * workers))
            for answer in await asyncio.gather(*requests):
                health = answer.raise_for_status().json()
                counts[str(health["pid"])] = sum(store["locked"] for store in health["stores"])
            if len(counts) == workers:
                return counts
    return None


async def commands(url: str) -> dict[str, int]:
    """Read the number of commands on each connection to a database of Valkey."""
    number = urlsplit(url).path.lstrip("/") or "0"
    async with Redis.from_url(url) as client:
        own = await client.client_id()
        clients = await client.client_list()
    return {
        entry["id"]: int(entry.get("tot-cmds", 0))
        for entry in clients
        if entry["db"] == number and int(entry["id"]) != own
    }


def lags(path: Path, start_ns: int, end_ns: int) -> Iterator[float]:
    """Yield the delays of a proxy's event loops in a period, in milliseconds; `path` begins the names of their logs."""
    for file in path.parent.glob(f"{path.name}-*"):
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            moment, _, late = line.partition(" ")
            if late and start_ns <= int(moment) <= end_ns:
                yield int(late) / 1000
