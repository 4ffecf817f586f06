"""Reads of a spend counter that Redis has lost, by many requests at once, through LiteLLM's own code."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from litellm.proxy.db.spend_counter_reseed import SpendCounterReseed
from litellm.proxy.spend_tracking.spend_counter_batch import read_batched_spend_counter, spend_counter_batch_scope

from litellm_evenkeel.lean.bursts.spend_counters import shared

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

COUNTER = "spend:key:a"
OF_NO_ROW = "spend:tag:a"
SPENT = 2.5
REQUESTS = 100


class Redis:
    """A Redis whose commands take a turn of the event loop."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.is_up, self.failing_writes = True, 0

    async def async_get_cache(self, key: str) -> float | None:
        await self._answer()
        return self.values.get(key)

    async def async_batch_get_cache(self, key_list: list[str]) -> dict[str, float | None]:
        await self._answer()
        return {key: self.values.get(key) for key in key_list}

    async def async_set_cache(self, key: str, value: float, *, nx: bool) -> bool:
        await self._answer()
        if self.failing_writes:
            self.failing_writes -= 1
            raise ConnectionError("the write has failed")
        is_new = key not in self.values
        if is_new or not nx:
            self.values[key] = value
        return is_new

    async def _answer(self) -> None:
        await asyncio.sleep(0)
        if not self.is_up:
            raise ConnectionError("Redis is gone")


class Memory:
    """A worker's cache in memory."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def get_cache(self, key: str) -> float | None:
        return self.values.get(key)

    def set_cache(self, key: str, value: float) -> None:
        self.values[key] = value


class Cache:
    """A cache in Redis and in memory."""

    def __init__(self, redis: Redis) -> None:
        self.redis_cache, self.in_memory_cache = redis, Memory()


class Database:
    """A database that counts its queries. The first ones may fail."""

    def __init__(self) -> None:
        self.queries = self.failing = 0

    async def spend(self, _client: object, counter: str) -> float | None:
        self.queries += 1
        await asyncio.sleep(0.001)
        return SPENT if self.queries > self.failing and counter != OF_NO_ROW else None


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    database = Database()
    monkeypatch.setattr(SpendCounterReseed, "from_db", staticmethod(database.spend))
    return database


@pytest.fixture
def redis() -> Redis:
    return Redis()


async def read_all(
    function: Callable[..., Awaitable[float | None]], redis: Redis, counter: str = COUNTER, **named: Any
) -> list[Any]:
    """Return what each of many requests at once reads, and what it has for the counter afterwards; or its error."""
    cache = Cache(redis)

    async def request() -> tuple[float | None, Any]:
        with spend_counter_batch_scope(redis, frozenset({counter})):
            # As at admission: the request has found that Redis lacks the counter.
            await read_batched_spend_counter(counter)
            value = await function(prisma_client=None, spend_counter_cache=cache, counter_key=counter, **named)
            return value, await read_batched_spend_counter(counter)

    return await asyncio.gather(*(request() for _ in range(REQUESTS)), return_exceptions=True)


async def test_stock_queries_the_database_for_each_request(redis: Redis, database: Database) -> None:
    """If this fails, LiteLLM has mended it, and the change can go."""
    await read_all(SpendCounterReseed.coalesced, redis)
    assert database.queries == REQUESTS


async def test_requests_share_two_queries_and_get_what_stock_returns(redis: Redis, database: Database) -> None:
    results = await read_all(shared(SpendCounterReseed.coalesced), redis)
    assert results == [(SPENT, (SPENT, True))] * REQUESTS
    assert database.queries <= 2
    assert redis.values == {COUNTER: SPENT}


async def test_a_counter_that_another_worker_has_set_is_read_from_redis(redis: Redis, database: Database) -> None:
    read_counter = shared(SpendCounterReseed.coalesced)
    cache = Cache(redis)
    with spend_counter_batch_scope(redis, frozenset({COUNTER})):
        assert await read_batched_spend_counter(COUNTER) == (None, True)
        redis.values[COUNTER] = 4.0
        assert await read_counter(None, cache, COUNTER) == 4.0
    assert database.queries == 0


async def test_requests_share_the_reads_of_a_counter_that_the_database_lacks(redis: Redis, database: Database) -> None:
    """Those of tags and end users are in no row."""
    results = await read_all(shared(SpendCounterReseed.coalesced), redis, OF_NO_ROW)
    assert results == [(None, (None, True))] * REQUESTS
    assert database.queries <= 2
    assert redis.values == {}


async def test_requests_do_not_share_a_failure_of_the_database(redis: Redis, database: Database) -> None:
    """LiteLLM adds the spend that it remembers for each request that gets no value."""
    database.failing = 2
    results = await read_all(shared(SpendCounterReseed.coalesced), redis)
    assert [value for value, _ in results].count(None) <= 2
    assert redis.values == {COUNTER: SPENT}


async def test_requests_do_not_share_a_failed_write(redis: Redis, database: Database) -> None:
    """A request whose counter cannot be initialized does not reserve its costs."""
    redis.failing_writes = 1
    results = await read_all(shared(SpendCounterReseed.coalesced), redis, require_cache_warm=True)
    assert results == [(SPENT, (SPENT, True))] * REQUESTS
    assert database.queries


def test_a_function_without_a_known_parameter_cannot_be_shared() -> None:
    async def renamed(*, counters: object, counter_key: str) -> float | None:
        raise NotImplementedError

    with pytest.raises(ImportError, match="has no parameter spend_counter_cache"):
        shared(renamed)


async def test_a_value_that_a_request_has_read_is_not_read_again(redis: Redis, database: Database) -> None:
    read_counter = shared(SpendCounterReseed.coalesced)
    redis.values[COUNTER] = 3.0
    cache = Cache(redis)
    with spend_counter_batch_scope(redis, frozenset({COUNTER})):
        await read_batched_spend_counter(COUNTER)
        redis.values[COUNTER] = 4.0
        assert await read_counter(None, cache, COUNTER) == 3.0
    assert database.queries == 0


async def test_a_request_that_knows_that_redis_lost_a_counter_does_not_trust_memory_when_redis_fails(
    redis: Redis, database: Database
) -> None:
    """LiteLLM reads the database then, as memory knows nothing of other workers."""
    read_counter = shared(SpendCounterReseed.coalesced)
    cache = Cache(redis)
    cache.in_memory_cache.set_cache(COUNTER, 0.5)
    with spend_counter_batch_scope(redis, frozenset({COUNTER})):
        assert await read_batched_spend_counter(COUNTER) == (None, True)
        redis.is_up = False
        assert await read_counter(None, cache, COUNTER) == SPENT
        # It is not in Redis, so the request must not rely on it.
        assert await read_batched_spend_counter(COUNTER) == (None, True)
    assert database.queries
