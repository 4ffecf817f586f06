"""The queue in front of the database client: how many requests are in flight, and in which order they are sent."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import httpx
import pytest

URLS = [f"/{number}" for number in range(100)]
BROKEN = "/broken"


class Session:
    """Connections to one query engine."""


class Client:
    """A database client that answers when the test wants it to."""

    def __init__(self) -> None:
        self.session = Session()
        self.in_flight, self.most, self.sent = 0, 0, list[str]()
        self.answered = asyncio.Event()

    async def request(self, _method: str, url: str, *, headers: dict[str, str] | None = None) -> str:
        del headers
        self.sent.append(url)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await self.answered.wait()
        finally:
            self.in_flight -= 1
        if url == BROKEN:
            raise ConnectionError("the query engine is gone")
        return url


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> tuple[type[Client], int]:
    """The client's class with the queue, and the number of requests that the queue lets through."""
    module: Any = ModuleType("prisma._async_http")
    module.HTTP = type("HTTP", (Client,), {})
    monkeypatch.setitem(sys.modules, "prisma", ModuleType("prisma"))
    monkeypatch.setitem(sys.modules, "prisma._async_http", module)
    monkeypatch.delitem(sys.modules, "litellm_evenkeel.lean.bursts.database_queue", raising=False)
    database_queue = import_module("litellm_evenkeel.lean.bursts.database_queue")
    database_queue.queue_database_requests()
    monkeypatch.delitem(sys.modules, "litellm_evenkeel.lean.bursts.database_queue")
    return module.HTTP, database_queue.MOST_IN_FLIGHT


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_are_sent_in_their_order_and_few_at_once(queued: tuple[type[Client], int]) -> None:
    client_type, most = queued
    client = client_type()
    calls = [asyncio.create_task(client.request("POST", url)) for url in URLS]
    await settle()
    assert client.sent == URLS[:most]
    client.answered.set()
    assert await asyncio.gather(*calls) == URLS
    assert client.sent == URLS
    assert client.most == most


async def test_a_failed_or_cancelled_request_leaves_its_place_to_the_next(queued: tuple[type[Client], int]) -> None:
    client_type, most = queued
    client = client_type()
    calls = [asyncio.create_task(client.request("POST", url)) for url in [BROKEN] * most + URLS]
    await settle()
    for call in calls[most + 1 : -1]:
        call.cancel()
    client.answered.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(result) for result in results[:most]} == {ConnectionError}
    assert client.sent == [*[BROKEN] * most, URLS[0], URLS[-1]]
    assert client.in_flight == 0


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("/transaction/7/commit", {}),
        ("/", {"X-transaction-id": "7"}),
        ("/transaction/start", None),
        ("http://127.0.0.1:1/status", None),
    ],
)
async def test_transactions_and_the_question_whether_an_engine_is_alive_do_not_wait(
    queued: tuple[type[Client], int], url: str, headers: dict[str, str] | None
) -> None:
    client_type, most = queued
    client = client_type()
    calls = [asyncio.create_task(client.request("POST", url)) for url in URLS]
    await settle()
    calls.append(asyncio.create_task(client.request("POST", url, headers=headers)))
    await settle()
    assert client.sent == [*URLS[:most], url]
    client.answered.set()
    await asyncio.gather(*calls)


async def test_an_engine_that_hangs_does_not_delay_another(queued: tuple[type[Client], int]) -> None:
    client_type, _ = queued
    hanging, other = client_type(), client_type()
    calls = [asyncio.create_task(hanging.request("POST", url)) for url in URLS]
    other.answered.set()
    assert await asyncio.gather(*(other.request("POST", url) for url in URLS)) == URLS
    hanging.answered.set()
    await asyncio.gather(*calls)


async def test_nobody_waits_for_an_engine_without_end(
    queued: tuple[type[Client], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    client_type, most = queued
    monkeypatch.setitem(client_type.request.__globals__, "SECONDS", 0.01)
    client = client_type()
    calls = [asyncio.create_task(client.request("POST", url)) for url in URLS]
    done, waiting = await asyncio.wait(calls, timeout=0.5)
    assert {type(call.exception()) for call in done} == {httpx.PoolTimeout}
    assert len(waiting) == most
    client.answered.set()
    await asyncio.gather(*waiting)
    assert await client.request("POST", "/later") == "/later"


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ({}, 32),
        ({"DATABASE_URL": "postgresql://h/d?connection_limit=10&pool_timeout=60"}, 32),
        ({"DATABASE_URL": "postgresql://h/d?connection_limit=100"}, 100),
        ({"DATABASE_URL": "postgresql://h/d", "DATABASE_URL_READ_REPLICA": "postgresql://h/d?connection_limit=50"}, 50),
        ({"DATABASE_URL": "postgresql://h/d?connection_limit=many"}, 32),
    ],
)
def test_no_connection_stays_unused(queued: tuple[type[Client], int], addresses: dict[str, str], expected: int) -> None:
    most_in_flight = queued[0].request.__globals__["most_in_flight"]
    assert most_in_flight(addresses) == expected


def test_a_second_event_loop_has_a_queue_of_its_own(queued: tuple[type[Client], int]) -> None:
    client_type, _ = queued

    async def ask_all() -> list[str]:
        client = client_type()
        client.answered.set()
        return await asyncio.gather(*(client.request("POST", url) for url in URLS))

    assert asyncio.run(ask_all()) == asyncio.run(ask_all()) == URLS
