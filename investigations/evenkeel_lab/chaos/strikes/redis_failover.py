"""A failover of Redis: a replica takes over the address of its master, as with a managed Redis."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redis.asyncio import Redis

from evenkeel_lab.errors import FaultNotCaused, RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from evenkeel_lab.chaos.rig import Rig
    from evenkeel_lab.chaos.tcp_link import TcpLink
    from evenkeel_lab.stack.servers.valkey import Valkey

# Nothing listens for as long as it takes to notice that a master is gone, and to replace it.
TAKEOVER_SECONDS = 1.0
REPLICATED_SECONDS, POLL_SECONDS = 10.0, 0.05


def failover(rig: Rig) -> AbstractAsyncContextManager[None]:
    """Replace the master by its replica during the block."""
    return taken_over(rig.redis, rig.ground.valkey, rig.replica)


@asynccontextmanager
async def taken_over(link: TcpLink, master: Valkey, replica: Valkey) -> AsyncIterator[None]:
    """Replace `master` by `replica` behind a link during the block."""
    first: Any
    second: Any
    async with Redis.from_url(master.url) as first, Redis.from_url(replica.url) as second:
        await _until_replicated(second, replica)
        await _promote(link, second, replica)
        try:
            yield
            if len(await second.client_list()) == 1:
                raise FaultNotCaused("No proxy connected to the replica.", hint="Send more requests.")
        finally:
            await _follow(first, replica)
            await _until_replicated(first, master)
            await _promote(link, first, master)
            await _follow(second, master)


async def _promote(link: TcpLink, client: Any, server: Valkey) -> None:
    async with link.refusing():
        await asyncio.sleep(TAKEOVER_SECONDS)
        await client.replicaof("NO", "ONE")
        link.target_port = int(server.info.address.rpartition(":")[2])


async def _follow(client: Any, master: Valkey) -> None:
    address = urlsplit(master.url)
    await client.config_set("masterauth", address.password)
    await client.replicaof(address.hostname, address.port)


async def _until_replicated(client: Any, server: Valkey) -> None:
    """Wait until a replica has all of its master's keys."""
    try:
        async with asyncio.timeout(REPLICATED_SECONDS):
            while (await client.info("replication")).get("master_link_status") != "up":
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise RigFailure(f"{server.info.name} does not replicate its master.", hint="See its log.") from None
