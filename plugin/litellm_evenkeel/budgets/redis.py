"""Budget source shared by all workers in Redis or Valkey: read before the database, written after a lookup there."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from litellm_evenkeel.budgets.budget import Budget, Source
from litellm_evenkeel.support.redis_connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.budgets.budget import Entity

TIMEOUT_SECONDS = 0.05
# Longer than a lookup may take: a TLS handshake is slow, and no lookup waits for the connection.
CONNECT_TIMEOUT_SECONDS = 1.0
# Shared entries expire before the workers' own ones do, so that the first worker with a stale one queries the database.
TTL_SHARE = 0.8
VERSION = 1
MAX_NUMBER = 1e300
Number: TypeAlias = Annotated[float, Field(gt=-MAX_NUMBER, lt=MAX_NUMBER)]
ENCODED = TypeAdapter(
    tuple[Literal[1], Number, Number | None, Number | None, Number | None, str | None, str | None, bool, bool, bool],
    config=ConfigDict(strict=True),
)
"""Form of an encoded budget: version and time, then the other fields of `Budget` except `source`."""


class RedisBudgets:
    """Driver for keys `{prefix}:budget:{kind}:{id}`, which expire by themselves. Use it from one task at a time.

    `close` closes the connection too.
    """

    def __init__(
        self,
        connection: RedisConnection,
        clock: Callable[[], float],
        *,
        ttl: float,
        negative_ttl: float,
        prefix: str = "evenkeel",
    ) -> None:
        self._connection, self._client, self._clock, self._prefix = connection, connection.client, clock, prefix
        self._ttl, self._negative_ttl = ttl * TTL_SHARE, negative_ttl * TTL_SHARE
        self._connecting: asyncio.Task[None] | None = None

    @classmethod
    def open(
        cls, url: str, clock: Callable[[], float], *, ttl: float, negative_ttl: float, prefix: str = "evenkeel"
    ) -> RedisBudgets:
        """Return a driver with a connection of its own."""
        connection = RedisConnection(url, connect_timeout=CONNECT_TIMEOUT_SECONDS)
        return cls(connection, clock, ttl=ttl, negative_ttl=negative_ttl, prefix=prefix)

    def is_ready(self) -> bool:
        """Return whether there is a connection. If not, start connecting; if that failed, raise its error."""
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
        if not self._connecting.done():
            return False
        self._connecting.result()
        return True

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        """Return the shared budgets that are fresh enough."""
        values = await self._connection.mget([self._key(entity) for entity in entities])
        now = self._clock()
        decoded = ((entity, decode(value)) for entity, value in zip(entities, values, strict=True))
        return {entity: budget for entity, budget in decoded if budget and self._remaining_seconds(budget, now) > 0}

    async def store(self, budgets: Mapping[Entity, Budget]) -> None:
        """Write budgets for the other workers."""
        now = self._clock()
        async with self._client.pipeline(transaction=False) as pipe:
            for entity, budget in budgets.items():
                milliseconds = int(self._remaining_seconds(budget, now) * 1000)
                if milliseconds > 0:
                    pipe.set(self._key(entity), encode(budget), px=milliseconds)
            await pipe.execute()

    def drop(self) -> None:
        """Connect again before the next lookup."""
        if self._connecting and self._connecting.done():
            self._connecting = None

    async def close(self) -> None:
        """Close the connection."""
        if self._connecting:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        await self._connection.close()

    async def _connect(self) -> None:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            await self._client.ping()

    def _remaining_seconds(self, budget: Budget, now: float) -> float:
        """Return the seconds until `budget` expires; 0 if its time is in the future because of another host's clock."""
        seconds = budget.as_of + (self._ttl if budget.exists else self._negative_ttl) - now
        return seconds if budget.as_of <= now + 1.0 else 0.0

    def _key(self, entity: Entity) -> str:
        kind, entity_id = entity
        return f"{self._prefix}:budget:{kind.value}:{entity_id}"


def encode(budget: Budget) -> str:
    """Return a budget as a JSON array."""
    return json.dumps([VERSION, budget.as_of, *budget.values], separators=(",", ":"))


def decode(encoded: bytes | str | None) -> Budget | None:
    """Return the budget of an encoded value, or `None` if this version did not write it."""
    try:
        _, as_of, *values = ENCODED.validate_json(encoded or "null")
    except ValidationError:
        return None
    return Budget._make((as_of, Source.REDIS, *values))
