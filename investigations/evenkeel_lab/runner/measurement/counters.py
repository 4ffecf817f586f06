"""What a subject has spent so far: read before a run and after it."""

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
# The database that every server has.
BESIDE = "postgres"
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
    """The counters of a tree of processes."""

    cpu: Mapping[str, float]
    """Seconds, by the program's name."""
    switches: int
    memory_mib: float

    def since(self, before: Spent) -> Spent:
        """Return what has been added; memory is as it is now."""
        cpu = {name: seconds - before.cpu.get(name, 0.0) for name, seconds in self.cpu.items()}
        return Spent(cpu, self.switches - before.switches, self.memory_mib)

    @property
    def total(self) -> float:
        """CPU seconds of all programs."""
        return sum(self.cpu.values())


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and all that it has started."""
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess as error:
        raise RigFailure(f"Process {pid}, which is measured, has ended.", hint="Its log says why.") from error
    return [process, *process.children(recursive=True)]


def spent(pid: int) -> Spent:
    """Read the counters of a process and of all that it has started."""
    cpu: dict[str, float] = {}
    switches, memory = 0, 0.0
    for process in tree(pid):
        # One that ends meanwhile is no part of a run.
        with contextlib.suppress(psutil.NoSuchProcess), process.oneshot():
            times, name = process.cpu_times(), process.name()
            cpu[name] = cpu.get(name, 0.0) + times.user + times.system
            switches += sum(process.num_ctx_switches())
            memory += process.memory_info().rss / MIB
    return Spent(cpu, switches, memory)


async def database(url: str) -> dict[str, int]:
    """Read what Postgres has counted for a database."""
    async with _beside(url) as (connection, name):
        row = await connection.fetchrow("SELECT * FROM pg_stat_database WHERE datname = $1", name)
    return {name: int(row[name]) for name in STATISTICS}


async def operations(engines: Path) -> dict[str, int]:
    """Read how often a proxy's query engines have carried out each operation; nothing of Prisma's own engine."""
    found: Counter[str] = Counter()
    async with client(seconds=TIMEOUT_SECONDS) as asking:
        for entry in engines.glob("*.json"):
            port = json.loads(entry.read_text(encoding="utf-8"))["port"]
            answer = await asking.get(f"http://{LOOPBACK}:{port}/evenkeel/operations")
            found.update({".".join(filter(None, (one["model"], one["action"]))): one["count"] for one in answer.json()})
    return dict(found)


async def waits(url: str) -> dict[str, int]:
    """Say what a proxy's connections to Postgres are about now: `active`, or what the active ones wait for."""
    async with _beside(url) as (connection, name):
        rows = await connection.fetch(WAITS, name)
    return {row["what"]: int(row["count"]) for row in rows}


@contextlib.asynccontextmanager
async def _beside(url: str) -> AsyncIterator[tuple[Connection, str]]:
    """Look at a database from another one, so that looks are not among what it counts; from itself where that fails."""
    name = urlsplit(url).path.lstrip("/")
    try:
        connection = await connect(urlsplit(url)._replace(path=f"/{BESIDE}").geturl())
    except PostgresError:
        connection = await connect(url)
    try:
        yield connection, unquote(name)
    finally:
        await connection.close()


async def locked(url: str, key: str, workers: int) -> dict[str, int] | None:
    """Read how many writes of each worker's journal found its file locked; None if not all of so many have answered."""
    found: dict[str, int] = {}
    # A connection for each look: who takes it is up to the workers.
    limits = httpx.Limits(max_keepalive_connections=0)
    headers = {"Authorization": f"Bearer {key}"}
    async with client(seconds=TIMEOUT_SECONDS, base_url=url, headers=headers, limits=limits) as asking:
        for _ in range(LOOKS):
            # At once: one after the other, they might all be taken by the same.
            several = (asking.get("/evenkeel/journal/health") for _ in range(AT_ONCE * workers))
            for answer in await asyncio.gather(*several):
                told = answer.raise_for_status().json()
                found[str(told["pid"])] = sum(store["locked"] for store in told["stores"])
            if len(found) == workers:
                return found
    return None


async def commands(url: str) -> dict[str, int]:
    """Read how many commands Valkey has carried out on each connection to a database of its own."""
    number = urlsplit(url).path.lstrip("/") or "0"
    async with Redis.from_url(url) as client:
        own = await client.client_id()
        clients = await client.client_list()
    return {one["id"]: int(one.get("tot-cmds", 0)) for one in clients if one["db"] == number and int(one["id"]) != own}


def lags(place: Path, start_ns: int, end_ns: int) -> Iterator[float]:
    """Return how late a proxy's event loops were in a period, in milliseconds."""
    for file in place.parent.glob(f"{place.name}-*"):
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            moment, _, late = line.partition(" ")
            if late and start_ns <= int(moment) <= end_ns:
                yield int(late) / 1000
