"""Unmodified LiteLLM on the whole stack, version by version. Slow: each one boots for half a minute."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import asyncpg
import httpx
import psutil
import pytest
import pytest_asyncio

from evenkeel_lab.stack.litellm import fixtures
from evenkeel_lab.stack.litellm.config import Prometheus, ProxySpec
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION
from evenkeel_lab.stack.litellm.fixtures import management_api
from evenkeel_lab.stack.litellm.migrations import late_indexes
from evenkeel_lab.stack.servers.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = pytest.mark.slow

BETWEEN = "1.81.9", "1.106.2", DEFAULT_VERSION
CHATS = 50
FLUSHED_SECONDS = 40.0
BACK_SECONDS = 40.0
SETTINGS = {"general_settings": {"proxy_batch_write_at": 1}}
JSON_COLUMNS = """
SELECT table_name, column_name, udt_name FROM information_schema.columns
WHERE table_schema = 'public' AND udt_name IN ('jsonb', '_jsonb', 'json', '_json')
"""


@pytest_asyncio.fixture(
    scope="module",
    params=["1.81.8", "1.110.2", *(pytest.param(version, marks=pytest.mark.thorough) for version in BETWEEN)],
)
async def proxy(request: pytest.FixtureRequest, below: Stack) -> AsyncIterator[Proxy]:
    async with below.proxy(ProxySpec(request.param, Prometheus.STOCK, settings=SETTINGS)) as running:
        yield running


def client(proxy: Proxy, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=proxy.url, headers={"Authorization": f"Bearer {key}"}, timeout=30)


async def chat(proxy: Proxy, key: str, **fields: Any) -> httpx.Response:
    body = {"model": proxy.model, "messages": [{"role": "user", "content": "ahoy"}], **fields}
    async with client(proxy, key) as sender:
        return await sender.post("/v1/chat/completions", json=body)


async def rows(proxy: Proxy, query: str, *arguments: object) -> list[Any]:
    connection = await asyncpg.connect(proxy.services.database_url)
    try:
        return list(await connection.fetch(query, *arguments))
    finally:
        await connection.close()


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.3)
    return True


async def json_strings(proxy: Proxy) -> list[str]:
    """Every jsonb column that holds a JSON string where a value should be."""
    found = []
    for table, column, kind in await rows(proxy, JSON_COLUMNS):
        value = f'unnest("{column}")' if kind.startswith("_") else f'"{column}"'
        query = f'SELECT count(*) FROM (SELECT {value} AS v FROM "{table}") AS t WHERE jsonb_typeof(v) = $1'
        if (await rows(proxy, query, "string"))[0][0]:
            found.append(f"{table}.{column}")
    return found


async def test_fixtures_and_chats_are_in_the_database(proxy: Proxy) -> None:
    made = await fixtures.create(proxy)
    answers = await asyncio.gather(
        *(chat(proxy, made.key, user=made.customers[n % 3], stream=n % 10 == 0) for n in range(CHATS))
    )
    assert {answer.status_code for answer in answers} == {200}

    async def logged() -> bool:
        query = 'SELECT count(*), sum(spend) FROM "LiteLLM_SpendLogs" WHERE team_id = $1'
        count, spend = (await rows(proxy, query, made.team))[0]
        return bool(count == CHATS and spend > 0)

    async def counted() -> bool:
        query = 'SELECT sum(api_requests), sum(spend) FROM "LiteLLM_DailyUserSpend" WHERE user_id = $1'
        count, spend = (await rows(proxy, query, made.user))[0]
        return bool(count == CHATS and spend > 0)

    assert await eventually(logged, FLUSHED_SECONDS), "spend logs"
    assert await eventually(counted, FLUSHED_SECONDS), "daily spend"
    assert await json_strings(proxy) == []


async def test_the_database_has_the_indexes_that_the_version_builds_itself(proxy: Proxy) -> None:
    found = {row[0] for row in await rows(proxy, "SELECT indexname FROM pg_indexes")}
    late = {statement.split('"')[1] for statement in late_indexes(proxy.services.environment.migrations)}
    assert late <= found
    assert bool(late) == (proxy.spec.litellm not in {"1.81.8", "1.81.9"})


async def test_the_database_has_the_tables_that_the_version_asks_for(proxy: Proxy) -> None:
    schema = proxy.services.environment.schema.read_text(encoding="utf-8")
    wanted = set(re.findall(r"(?m)^model (\w+) \{", schema))
    found = {row[0] for row in await rows(proxy, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert wanted <= found


async def test_a_key_over_its_budget_is_refused(proxy: Proxy) -> None:
    async with management_api(proxy) as api:
        key = (await api.post("/key/generate", max_budget=1e-9))["key"]
    assert (await chat(proxy, key)).status_code == 200

    async def refused() -> bool:
        answer = await chat(proxy, key)
        return answer.status_code != 200 and "budget" in answer.text.lower()

    assert await eventually(refused, FLUSHED_SECONDS)


def engines(proxy: Proxy) -> list[psutil.Process]:
    family = psutil.Process(proxy.info.pid).children(recursive=True)
    return [process for process in family if "query-engine" in " ".join(process.cmdline())]


async def writes_and_reads(proxy: Proxy) -> bool:
    """Whether something only a working database can do succeeds now."""
    try:
        async with client(proxy, proxy.master_key) as sender:
            made = await sender.post("/key/generate", json={})
            return made.status_code == 200 and (await chat(proxy, made.json()["key"])).status_code == 200
    except httpx.TransportError:
        return False


async def test_the_proxy_survives_a_killed_engine(proxy: Proxy) -> None:
    before = engines(proxy)
    assert before
    for engine in before:
        if "worker" in " ".join(engine.cmdline()) or not engine.children():
            os.kill(engine.pid, signal.SIGKILL)
    assert await eventually(lambda: writes_and_reads(proxy), BACK_SECONDS)


async def test_the_proxy_survives_a_restart_of_postgres(below: Stack, proxy: Proxy) -> None:
    assert isinstance(below.postgres, Postgres)
    await below.postgres.restart()
    assert await eventually(lambda: writes_and_reads(proxy), BACK_SECONDS)
