"""Pins in Redis or Valkey, a cluster too: one key for each session, and for each account a list of its sessions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# It touches one key only: the sessions of an account lie anywhere in a cluster.
PUT = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and ARGV[3] == '1' then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
"""
AT_ONCE = 500


class RedisSessionStore:
    """Pins in a Redis that others may use for other things as well: no scan of its keys is ever made.

    `client` is one of redis.asyncio, a cluster's too; it is closed with the pins. `clock` tells the time of day, which
    only says when what a list names has lapsed: a worker's clock that is off by seconds does no harm.
    """

    def __init__(self, client: Any, prefix: str = "evenkeel", clock: Callable[[], float] = time.time) -> None:
        self._client, self._prefix, self._clock = client, prefix, clock
        self._put = client.register_script(PUT)

    async def get(self, key: str) -> str | None:
        """Return the account that a session is pinned to."""
        found = await self._client.get(self._name(key))
        return None if found is None else _text(found)

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        """Pin a session, and return the account that it is pinned to afterwards."""
        milliseconds = max(int(ttl * 1000), 1)
        # The list first: a pin that no list names would outlive its account's drop.
        listed, now = self._list(account), self._clock()
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zremrangebyscore(listed, "-inf", now)
            pipe.zadd(listed, {key: now + ttl})
            pipe.pexpire(listed, milliseconds)
            await pipe.execute()
        arguments = [account, milliseconds, int(only_if_absent)]
        return _text(await self._put(keys=[self._name(key)], args=arguments))

    async def drop_account(self, account: str) -> None:
        """Forget all pins of an account."""
        listed = self._list(account)
        while True:
            some = await self._client.zpopmin(listed, AT_ONCE)
            if not some:
                return
            names = [self._name(_text(key)) for key, _ in some]
            async with self._client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.get(name)
                held = await pipe.execute()
            # One that moves elsewhere just now is lost with them: a session without a pin, and no wrong one.
            async with self._client.pipeline(transaction=False) as pipe:
                for name, found in zip(names, held, strict=True):
                    if found is not None and _text(found) == account:
                        pipe.delete(name)
                await pipe.execute()

    async def close(self) -> None:
        """Let go of the server."""
        await self._client.aclose()

    def _name(self, key: str) -> str:
        return f"{self._prefix}:pin:{key}"

    def _list(self, account: str) -> str:
        return f"{self._prefix}:pins:{account}"


def _text(told: bytes | str) -> str:
    return told.decode() if isinstance(told, bytes) else told
