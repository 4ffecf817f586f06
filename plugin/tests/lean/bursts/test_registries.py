"""Loads of a registry that many requests miss at once, through LiteLLM's own code."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from litellm.proxy.auth import auth_checks

from litellm_evenkeel.lean.bursts.registries import shared

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

REQUESTS = 100


class Cache:
    """LiteLLM's cache of keys and entities, as far as registries use it."""

    default_in_memory_ttl = 60

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.is_broken = False

    async def async_get_cache(self, key: str) -> object:
        return self.values.get(key)

    async def async_set_cache(self, key: str, value: object, ttl: float) -> None:
        del ttl
        if self.is_broken:
            raise ConnectionError("no cache")
        self.values[key] = value


class Database:
    """A database with a list of names."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ("gold",)
        self.queries, self.is_broken = 0, False

    async def fetch(self) -> tuple[str, ...]:
        self.queries += 1
        await asyncio.sleep(0.001)
        if self.is_broken:
            raise ConnectionError("no database")
        return self.names


async def turns_until_all_have_it(load: Callable[..., Awaitable[Any]], database: Database) -> tuple[int, set[Any]]:
    """Return the answers to a hundred requests, and the turns of the event loop between the first and the last."""
    turn, ends, lock, cache = 0, [], asyncio.Lock(), Cache()

    async def ask() -> Any:
        registry = await load(
            cache_key="groups",
            overflow_sentinel="too many",
            max_size=10,
            load_lock=lock,
            fetch_ids=database.fetch,
            user_api_key_cache=cache,
        )
        ends.append(turn)
        return registry

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    answers = await asyncio.gather(*(ask() for _ in range(REQUESTS)))
    counting.cancel()
    return max(ends) - min(ends), set(answers)


@pytest.fixture(autouse=True)
def plain_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth_checks, "_raw_cache", lambda cache: cache)


async def test_litellm_lets_one_request_through_in_each_turn() -> None:
    turns, answers = await turns_until_all_have_it(auth_checks._load_bounded_registry, database := Database())
    assert turns >= REQUESTS - 2
    assert (answers, database.queries) == ({frozenset({"gold"})}, 1)


async def test_waiting_requests_get_it_in_few_turns() -> None:
    turns, answers = await turns_until_all_have_it(shared(auth_checks._load_bounded_registry), database := Database())
    assert turns <= 6
    assert (answers, database.queries) == ({frozenset({"gold"})}, 1)


@pytest.mark.parametrize("names", [(), ("a", "b", *map(str, range(9)))])
async def test_the_answer_is_the_same(names: tuple[str, ...]) -> None:
    database = Database()
    database.names = names
    stock = await turns_until_all_have_it(auth_checks._load_bounded_registry, database)
    ours = await turns_until_all_have_it(shared(auth_checks._load_bounded_registry), database)
    assert stock[1] == ours[1]


async def test_a_database_that_fails_is_asked_once() -> None:
    database = Database()
    database.is_broken = True
    _, answers = await turns_until_all_have_it(shared(auth_checks._load_bounded_registry), database)
    assert (answers, database.queries) == ({None}, 1)


async def test_a_registry_in_the_cache_is_returned_without_a_load() -> None:
    cache = Cache()
    cache.values["groups"] = ("gold",)
    load = shared(auth_checks._load_bounded_registry)
    registry = await load(cache_key="groups", overflow_sentinel="too many", user_api_key_cache=cache)
    assert registry == {"gold"}
