"""Lease store and cooldown channel in Redis or Valkey."""

from __future__ import annotations

import asyncio
import contextlib
import json
from importlib import resources
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import MAX_COOLDOWN_SECONDS, PRUNE_SECONDS, PUBLISH_SCRIPT
from litellm_evenkeel.rotation.quota_sharing.protocol import LeaseResponse, ScopeGrant, SlotsGrant, WindowGrant
from litellm_evenkeel.support.redis_connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownMessage
    from litellm_evenkeel.rotation.quota_sharing.protocol import LeaseRequest, ScopeRequest

LEASE_SCRIPT = resources.files(__package__).joinpath("lease.lua").read_text(encoding="utf-8")
# A subscription without messages for this long is pinged, so that a dead connection is noticed.
LISTEN_TIMEOUT_SECONDS = 5.0


class RedisLeaseStore:
    """Connections of one worker to Redis: one for commands, and one for the subscription."""

    def __init__(self, url: str, prefix: str, timeout: float) -> None:
        # A hash tag: the script needs all keys at once, so in a cluster they have to be on one node.
        self._tag = f"{{{prefix.strip('{}') or 'evenkeel'}}}"
        self._commands = RedisConnection(url, connect_timeout=timeout)
        self._subscriber = RedisConnection(url, connect_timeout=LISTEN_TIMEOUT_SECONDS)
        self._exchange = self._commands.client.register_script(LEASE_SCRIPT)
        self._publish = self._commands.client.register_script(PUBLISH_SCRIPT)
        self._common_keys = [f"{self._tag}:shared", f"{self._tag}:workers"]

    async def exchange(self, request: LeaseRequest) -> LeaseResponse:
        """Send all requests of a worker at once."""
        keys = [*self._common_keys, *(f"{self._tag}:scope:{scope.key}" for scope in request.scopes)]
        response = await self._exchange(keys=keys, args=[json.dumps(request._asdict())])
        return decode_response(response, request.scopes)

    async def publish(self, messages: Sequence[CooldownMessage]) -> None:
        """Send messages to all workers, and keep them for workers that start later."""
        updates = json.dumps([[message.field, message.text, message.until, message.account] for message in messages])
        keys = [f"{self._tag}:cooldowns", f"{self._tag}:cooldowns-pruned"]
        longest, pause = int(MAX_COOLDOWN_SECONDS * 1000), int(PRUNE_SECONDS * 1000)
        await self._publish(keys=keys, args=[f"{self._tag}:cooldown-updates", updates, longest, pause])

    async def history(self) -> list[bytes | str]:
        """Return all messages that are kept, also those of cooldowns that have ended."""
        async with asyncio.timeout(LISTEN_TIMEOUT_SECONDS):
            # Without messages, it only deletes those that need not be kept any more. A replica refuses that.
            with contextlib.suppress(Exception):
                await self.publish([])
            return list((await self._subscriber.client.hgetall(f"{self._tag}:cooldowns")).values())

    async def listen(self) -> AsyncIterator[bytes | None]:
        """Yield messages as they arrive. After the first `None`, the subscription is active and misses nothing."""
        async with self._subscriber.subscription() as subscription:
            async with asyncio.timeout(LISTEN_TIMEOUT_SECONDS):
                await subscription.subscribe(f"{self._tag}:cooldown-updates")
            is_pinged = False
            while True:
                message = await subscription.get_message(timeout=LISTEN_TIMEOUT_SECONDS)
                if message is None:
                    # Either no worker publishes, or the connection is dead: a ping tells the two apart.
                    if is_pinged:
                        raise TimeoutError
                    await subscription.ping()
                is_pinged = message is None
                if message and message["type"] == "subscribe":
                    yield None
                elif message and message["type"] == "message":
                    yield message["data"]

    async def drop(self) -> None:
        """Close connections that do not answer. The store can still be used afterwards."""
        await self._commands.drop()

    async def close(self) -> None:
        """Close all connections."""
        await self._commands.close()
        await self._subscriber.close()


def decode_response(response: bytes | str, scopes: Sequence[ScopeRequest]) -> LeaseResponse:
    """Decode the result of the lease script."""
    words = iter((response.decode() if isinstance(response, bytes) else response).split())
    now, epoch, grants_at, workers = float(next(words)), next(words), float(next(words)), int(next(words))
    rest = list(words)
    answered = scopes if rest else ()
    return LeaseResponse(now, epoch, grants_at, workers, tuple(_decode_grants(answered, iter(rest))))


def _decode_grants(scopes: Sequence[ScopeRequest], words: Iterator[str]) -> Iterator[ScopeGrant]:
    for scope in scopes:
        windows = tuple(
            WindowGrant(int(next(words)), float(next(words)), float(next(words)), float(next(words)))
            for _ in scope.windows
        )
        slots = SlotsGrant(int(next(words)), next(words) == "1") if scope.slots else None
        yield ScopeGrant(windows, slots)
