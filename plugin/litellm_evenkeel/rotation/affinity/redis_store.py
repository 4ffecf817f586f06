"""Pins in Redis or Valkey, clusters included: a key for each session, and for each account a list of its sessions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.support.redis_connection import RedisConnection

# The script uses one key only, as a cluster spreads the sessions of an account over its nodes.
PUT = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and ARGV[3] == '1' then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
"""
DROP_BATCH_SIZE = 500


class RedisSessionStore:
    """Pins in a Redis that other applications may use as well, so its keys are never scanned.

    `close` closes the connection. `clock` returns seconds since 1970. It only determines which entries of an account's
    list have expired, so a clock that is off by seconds does no harm.
    """

    def __init__(
        self, connection: RedisConnection, prefix: str = "evenkeel", clock: Callable[[], float] = time.time
    ) -> None:
        self._connection, self._prefix, self._clock = connection, prefix, clock
        # The types of redis-py describe its synchronous client.
        self._client: Any = connection.client
        self._put: Any = self._client.register_script(PUT)

    async def get(self, key: str) -> str | None:
        """Return the account that a session is pinned to; `None` without a pin."""
        account = await self._client.get(self._pin_key(key))
        return None if account is None else _text(account)

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        """Pin a session, and return the account that it is pinned to afterwards."""
        milliseconds = max(int(ttl * 1000), 1)
        # The list first: a pin that is missing in the list would survive `drop_account`.
        list_key, now = self._list_key(account), self._clock()
        async with self._client.pipeline(transaction=False) as pipe:
            pipe.zremrangebyscore(list_key, "-inf", now)
            pipe.zadd(list_key, {key: now + ttl})
            pipe.pexpire(list_key, milliseconds)
            await pipe.execute()
        arguments = [account, milliseconds, int(only_if_absent)]
        return _text(await self._put(keys=[self._pin_key(key)], args=arguments))

    async def drop_account(self, account: str) -> None:
        """Forget all pins of an account."""
        list_key = self._list_key(account)
        while True:
            entries = await self._client.zpopmin(list_key, DROP_BATCH_SIZE)
            if not entries:
                return
            pin_keys = [self._pin_key(_text(key)) for key, _ in entries]
            async with self._client.pipeline(transaction=False) as pipe:
                for pin_key in pin_keys:
                    pipe.get(pin_key)
                accounts = await pipe.execute()
            # A pin that moves to another account in between is deleted too: no pin is better than a wrong one.
            async with self._client.pipeline(transaction=False) as pipe:
                for pin_key, pinned in zip(pin_keys, accounts, strict=True):
                    if pinned is not None and _text(pinned) == account:
                        pipe.delete(pin_key)
                await pipe.execute()

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    def _pin_key(self, key: str) -> str:
        return f"{self._prefix}:pin:{key}"

    def _list_key(self, account: str) -> str:
        return f"{self._prefix}:pins:{account}"


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
