"""What other workers have looked up, in a Redis or Valkey: asked before the database, and told afterwards."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from litellm_evenkeel.budgets.budget import Budget, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.budgets.budget import Entity

PATIENCE_SECONDS = 0.05
# Connecting takes longer than asking, most of all with TLS; nobody waits for it.
CONNECT_SECONDS = 1.0
# It goes before the freshest copies in memory do: whoever is the first to need another asks the database.
KEPT = 0.8
VERSION = 1
LARGEST = 1e300


class RedisBudgets:
    """Keys of its own, each of which goes by itself: `{prefix}:budget:{kind}:{id}`. It is asked by one task at a time.

    `client` is one of redis.asyncio, and is closed with it.
    """

    def __init__(
        self, client: Any, clock: Callable[[], float], *, ttl: float, negative_ttl: float, prefix: str = "evenkeel"
    ) -> None:
        self._client, self._clock, self._prefix = client, clock, prefix
        self._ttl, self._negative_ttl = ttl * KEPT, negative_ttl * KEPT
        self._connecting: asyncio.Task[None] | None = None

    @classmethod
    def of(
        cls, url: str, clock: Callable[[], float], *, ttl: float, negative_ttl: float, prefix: str = "evenkeel"
    ) -> RedisBudgets:
        """Return one with a client of its own."""
        # What went wrong is not tried again behind the back of whoever looks to the time.
        client = Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=CONNECT_SECONDS)
        return cls(client, clock, ttl=ttl, negative_ttl=negative_ttl, prefix=prefix)

    def is_ready(self) -> bool:
        """Say whether there is a connection; if not, begin to connect, and raise what came of it when it failed."""
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
        if not self._connecting.done():
            return False
        self._connecting.result()
        return True

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        """Return what others know and is fresh enough."""
        told = await self._client.mget([self._name(entity) for entity in entities])
        now = self._clock()
        read_all = ((entity, read(text)) for entity, text in zip(entities, told, strict=True))
        return {entity: one for entity, one in read_all if one and self._left(one, now) > 0}

    async def store(self, found: Mapping[Entity, Budget]) -> None:
        """Tell others."""
        now = self._clock()
        async with self._client.pipeline(transaction=False) as pipe:
            for entity, budget in found.items():
                milliseconds = int(self._left(budget, now) * 1000)
                if milliseconds > 0:
                    pipe.set(self._name(entity), written(budget), px=milliseconds)
            await pipe.execute()

    def drop(self) -> None:
        """Connect anew before anything else is asked."""
        if self._connecting and self._connecting.done():
            self._connecting = None

    async def close(self) -> None:
        """Let go of the server."""
        if self._connecting:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        await self._client.aclose()

    async def _connect(self) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            await self._client.ping()

    def _left(self, budget: Budget, now: float) -> float:
        """Return for how long a word may still be used, zero for one from the future of a clock that is off."""
        left = budget.as_of + (self._ttl if budget.exists else self._negative_ttl) - now
        return left if budget.as_of <= now + 1.0 else 0.0

    def _name(self, entity: Entity) -> str:
        kind, who = entity
        return f"{self._prefix}:budget:{kind.value}:{who}"


def written(budget: Budget) -> str:
    """Write a budget as others read it."""
    return json.dumps([VERSION, budget.as_of, *budget.values], separators=(",", ":"))


def read(text: bytes | str | None) -> Budget | None:
    """Read one; None for what nobody of our version has written."""
    try:
        told = json.loads(text or "null")
        version, as_of, maximum, spend, resets_at, alias, email, exists, is_unlimited, never_resets = told
    except (ValueError, TypeError, RecursionError):
        return None
    flags, names = (exists, is_unlimited, never_resets), (alias, email)
    numbers = (maximum, spend, resets_at)
    if version != VERSION or not _is_number(as_of) or not all(isinstance(one, bool) for one in flags):
        return None
    if not all(one is None or _is_number(one) for one in numbers):
        return None
    if not all(one is None or isinstance(one, str) for one in names):
        return None
    return Budget(
        as_of=as_of,
        source=Source.REDIS,
        maximum=maximum,
        spend=spend,
        resets_at=resets_at,
        alias=alias,
        email=email,
        exists=exists,
        is_unlimited=is_unlimited,
        never_resets=never_resets,
    )


def _is_number(told: object) -> bool:
    return isinstance(told, int | float) and not isinstance(told, bool) and abs(told) < LARGEST
