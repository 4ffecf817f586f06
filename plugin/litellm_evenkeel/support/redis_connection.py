"""Connections to Redis or Valkey: one server, a cluster, or a server that Sentinels watch."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from litellm_evenkeel.support.redis_address import RedisAddress, Topology, parse_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from redis.asyncio.client import PubSub


class RedisConnection:
    """Connections of one user. They are opened by the first command."""

    def __init__(self, url: str, *, connect_timeout: float) -> None:
        address = parse_address(url)
        # No retries: the caller bounds the time of a command, and has to see every error.
        usual: dict[str, Any] = {"retry": Retry(NoBackoff(), 0), "socket_connect_timeout": connect_timeout}
        self._node_options = {**address.options, **usual}
        self._sentinel: Sentinel | None = None
        self.client: Redis | RedisCluster
        if address.topology is Topology.SERVER:
            self.client = Redis.from_url(address.url, **usual)
        elif address.topology is Topology.CLUSTER:
            nodes = [ClusterNode(host, port) for host, port in address.nodes]
            self.client = RedisCluster(startup_nodes=nodes, **self._node_options)
        else:
            self._sentinel = _open_sentinel(address, usual, connect_timeout)
            self.client = self._sentinel.master_for(address.service, **self._node_options)

    async def mget(self, keys: Sequence[str]) -> list[bytes | str | None]:
        """Return the values of keys, which may be on several nodes of a cluster."""
        if isinstance(self.client, RedisCluster):
            return list(await self.client.mget_nonatomic(keys))
        return list(await self.client.mget(keys))

    @contextlib.asynccontextmanager
    async def subscription(self) -> AsyncIterator[PubSub]:
        """Open a subscription. In a cluster, any node delivers the messages of all."""
        if not isinstance(self.client, RedisCluster):
            async with self.client.pubsub() as subscription:
                yield subscription
            return
        await self.client.initialize()
        node = self.client.get_random_node()
        async with (
            Redis(host=node.host, port=int(node.port), **self._node_options) as client,
            client.pubsub() as subscription,
        ):
            yield subscription

    async def drop(self) -> None:
        """Close connections that do not answer. The next command opens new ones."""
        if isinstance(self.client, RedisCluster):
            await self.client.aclose()
        else:
            await self.client.connection_pool.disconnect()

    async def close(self) -> None:
        """Close all connections."""
        await self.client.aclose()
        for sentinel in self._sentinel.sentinels if self._sentinel else ():
            await sentinel.aclose()


def _open_sentinel(address: RedisAddress, usual: dict[str, Any], timeout: float) -> Sentinel:
    # A Sentinel that hangs must not keep the others from being asked.
    options = {**address.sentinel_options, **usual, "socket_timeout": timeout}
    return Sentinel(address.nodes, sentinel_kwargs=options)  # type: ignore[no-untyped-call]
