"""Groups of Valkey servers on loopback that replace a master that dies: a cluster, and servers that Sentinels watch."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis import RedisError
from redis.asyncio import Redis

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.servers.valkey import Valkey, valkey_process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

SLOTS = 16_384
SERVICE = "main"
SENTINELS, QUORUM = 3, 2
# A server that does not answer for this long is replaced.
DOWN_MILLISECONDS = 1_000
READY_SECONDS, POLL_SECONDS = 20.0, 0.05
BASE = 'save ""\nappendonly no\ndaemonize no\nrepl-diskless-sync-delay 0\n'


@dataclass(frozen=True)
class ValkeyGroup:
    """A running group of servers."""

    url: str
    """The address for clients."""
    servers: Sequence[Valkey]

    async def master_of(self, key: str) -> Valkey:
        """Return the server that accepts writes of `key` now."""
        for server in self.servers:
            with contextlib.suppress(RedisError, OSError):
                async with _client(server) as client:
                    # A node of a cluster that does not serve the key raises an error.
                    await client.exists(key)
                    if (await client.info("replication"))["role"] == "master":
                        return server
        raise RigFailure(f"No server of {self.url.rpartition('@')[2]} accepts writes.", hint="See its logs.")


@contextlib.asynccontextmanager
async def valkey_cluster(folder: Path, logs: Path, *, masters: int = 3) -> AsyncIterator[ValkeyGroup]:
    """Run a cluster of masters with one replica each."""
    password = secrets.token_hex(16)
    async with contextlib.AsyncExitStack() as running:
        servers = [
            await running.enter_async_context(_node(folder, logs, f"valkey-{number}", password))
            for number in range(2 * masters)
        ]
        clients = [await running.enter_async_context(_client(server)) for server in servers]
        await _join(servers, clients, masters)
        nodes = ",".join(server.info.address for server in servers)
        yield ValkeyGroup(f"redis+cluster://:{password}@{nodes}", servers)


@contextlib.asynccontextmanager
async def valkey_sentinels(folder: Path, logs: Path) -> AsyncIterator[ValkeyGroup]:
    """Run a master and a replica, and three Sentinels that watch them."""
    password = secrets.token_hex(16)
    async with contextlib.AsyncExitStack() as running:

        async def start(name: str, settings: str, arguments: Sequence[str] = ()) -> Valkey:
            return await running.enter_async_context(
                valkey_process(
                    folder,
                    logs,
                    name,
                    port=free_port(),
                    password=password,
                    settings=settings,
                    arguments=arguments,
                )
            )

        master = await start("valkey-master", f"{BASE}masterauth {password}\n")
        host, port = master.info.address.split(":")
        replica = await start("valkey-replica", f"{BASE}masterauth {password}\nreplicaof {host} {port}\n")
        watch = (
            f"sentinel monitor {SERVICE} {host} {port} {QUORUM}\nsentinel auth-pass {SERVICE} {password}\n"
            f"sentinel sentinel-pass {password}\nsentinel down-after-milliseconds {SERVICE} {DOWN_MILLISECONDS}\n"
            f"sentinel failover-timeout {SERVICE} {3 * DOWN_MILLISECONDS}\n"
        )
        sentinels = [await start(f"sentinel-{number}", watch, ["--sentinel"]) for number in range(SENTINELS)]
        async with _client(sentinels[0]) as client:
            await _until(lambda: _is_watched(client), "The Sentinels did not find each other")
        nodes = ",".join(sentinel.info.address for sentinel in sentinels)
        url = f"redis+sentinel://:{password}@{nodes}/{SERVICE}/0?sentinel_password={password}"
        yield ValkeyGroup(url, [master, replica])


@contextlib.asynccontextmanager
async def _node(folder: Path, logs: Path, name: str, password: str) -> AsyncIterator[Valkey]:
    settings = (
        f"{BASE}masterauth {password}\ncluster-enabled yes\ncluster-port {free_port()}\n"
        f"cluster-node-timeout {DOWN_MILLISECONDS}\ncluster-announce-ip {LOOPBACK}\n"
    )
    async with valkey_process(folder, logs, name, port=free_port(), password=password, settings=settings) as server:
        yield server


async def _join(servers: Sequence[Valkey], clients: Sequence[Any], masters: int) -> None:
    """Distribute the slots, and make the second half of the servers replicas of the first half."""
    bounds = [SLOTS * number // masters for number in range(masters + 1)]
    for number in range(masters):
        await clients[number].execute_command("CLUSTER ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
    for server, client in zip(servers[1:], clients[1:], strict=True):
        host, port = server.info.address.split(":")
        bus = (await client.config_get("cluster-port"))["cluster-port"]
        await clients[0].execute_command("CLUSTER MEET", host, port, bus)
    await _until(lambda: _know(clients, len(servers)), "The nodes of the cluster did not find each other")
    ids = [str(await client.execute_command("CLUSTER MYID"), "ascii") for client in clients[:masters]]
    for number, client in enumerate(clients[masters:]):
        await client.execute_command("CLUSTER REPLICATE", ids[number])
    await _until(lambda: _are_linked(clients, masters), "The replicas of the cluster did not connect")


async def _know(clients: Sequence[Any], number: int) -> bool:
    infos = [await client.execute_command("CLUSTER INFO") for client in clients]
    return all(int(info["cluster_known_nodes"]) == number for info in infos)


async def _are_linked(clients: Sequence[Any], masters: int) -> bool:
    states = [(await client.execute_command("CLUSTER INFO"))["cluster_state"] for client in clients]
    links = [(await client.info("replication")).get("master_link_status") for client in clients[masters:]]
    return set(states) == {"ok"} and set(links) == {"up"}


async def _is_watched(client: Any) -> bool:
    master = await client.sentinel_master(SERVICE)
    return int(master["num-other-sentinels"]) == SENTINELS - 1 and int(master["num-slaves"]) == 1


def _client(server: Valkey) -> Any:
    # Its method for any command has no types.
    return Redis.from_url(server.url, socket_timeout=2, socket_connect_timeout=2)


async def _until(holds: Callable[[], Awaitable[bool]], problem: str) -> None:
    try:
        async with asyncio.timeout(READY_SECONDS):
            while not await holds():
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise RigFailure(f"{problem} within {READY_SECONDS:.0f} s.", hint="See their logs.") from None
