"""The load against an unmodified LiteLLM: what only a real proxy can show. Slow: it boots one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import asyncpg
import pyarrow.parquet as pq
import pytest
import pytest_asyncio

from evenkeel_lab.stack.litellm.config import ProxySpec
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = pytest.mark.slow

COUNTS = {
    "users": "SELECT count(*) FROM \"LiteLLM_EndUserTable\" WHERE user_id LIKE 'created-%'",
    "keys": 'SELECT count(*) FROM "LiteLLM_VerificationToken" WHERE key_alias IS NULL',
}


@pytest_asyncio.fixture(scope="module")
async def proxy(below: Stack) -> AsyncIterator[Proxy]:
    async with below.proxy(ProxySpec(DEFAULT_VERSION), name="loaded") as running:
        yield running


async def count(proxy: Proxy, what: str) -> int:
    connection = await asyncpg.connect(proxy.services.database_url)
    try:
        found: int = await connection.fetchval(COUNTS[what])
        return found
    finally:
        await connection.close()


async def load(proxy: Proxy, folder: Path, *arguments: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    command = [sys.executable, "-m", "evenkeel_lab", "load", "chat", "--host", proxy.url, "--models", proxy.model]
    command += ["--records", str(folder), "--json", *arguments]
    environment = os.environ | {"EVENKEEL_LOAD_API_KEY": proxy.master_key}
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), pq.read_table(folder / "records.parquet").to_pylist()


async def test_created_users_and_keys_are_there_for_the_load_and_gone_after_it(proxy: Proxy, tmp_path: Path) -> None:
    before = {what: await count(proxy, what) for what in COUNTS}
    seen = dict.fromkeys(COUNTS, 0)

    async def look() -> None:
        while True:
            for what in COUNTS:
                seen[what] = max(seen[what], await count(proxy, what))
            await asyncio.sleep(0.1)

    looking = asyncio.create_task(look())
    arguments = ("--users", "5", "--requests-per-user", "4", "--user-mode", "created", "--key-mode", "per-user")
    told, found = await load(proxy, tmp_path / "records", *arguments)
    looking.cancel()
    assert told["verdict"] == "ok"
    assert len({record["user"] for record in found}) == 5
    assert len(found) == 20
    assert seen["users"] == before["users"] + 5
    assert seen["keys"] == before["keys"] + 5
    assert await count(proxy, "keys") == before["keys"]
    assert await count(proxy, "users") == before["users"]


async def test_the_proxys_headers_and_the_mocks_times_are_recorded(proxy: Proxy, tmp_path: Path) -> None:
    told, found = await load(proxy, tmp_path / "records", "--users", "2", "--requests", "20", "--user-mode", "random")
    assert len({record["user"] for record in found}) == 20
    for record in found:
        assert record["model_id"]
        assert record["retries"] == 0
        assert record["sent_ns"] < record["mock_received_ns"] <= record["mock_sent_ns"] < record["end_ns"]
    assert told["steps"][0]["calls"]["chat"]["added"]["mean"] > 0


async def test_the_requests_key_reaches_the_mock_through_the_proxy(proxy: Proxy, tmp_path: Path) -> None:
    import httpx  # noqa: PLC0415  # only here

    async with httpx.AsyncClient(trust_env=False) as asking:
        await asking.post(f"{proxy.services.mock_url}/_mock/reset")
        _, found = await load(proxy, tmp_path / "records", "--users", "2", "--requests", "6", "--seed", "11")
        lines = (await asking.get(f"{proxy.services.mock_url}/_mock/journal")).text.splitlines()
    assert sorted(record["key"] for record in found) == sorted(json.loads(line)["key"] for line in lines)
