"""The journal in a real proxy: every request is one row, and what is lost when the proxy is. Slow: it boots some."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

from evenkeel_lab.stack.litellm.config import Journal, ProxySpec, Rotation
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack
    from litellm_evenkeel.journal.record import RequestRecord

pytestmark = pytest.mark.slow

REQUESTS, CLIENTS = 60, 10
MESSAGES = [{"role": "user", "content": "ahoy"}]


def client(proxy: Proxy) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {proxy.master_key}"}
    return httpx.AsyncClient(base_url=proxy.url, headers=headers, timeout=60)


def file_of(proxy: Proxy) -> Path:
    return proxy.config.parent / "evenkeel-journal.db"


def rows(path: Path) -> list[RequestRecord]:
    with closing(SqliteStore(path, create=False)) as store:
        return store.newest(1_000_000)


async def asked(proxy: Proxy, number: int, **told: Any) -> list[int]:
    """Send `number` requests, some at the same time, and return the statuses."""
    left, statuses = iter(range(number)), []

    async def ask(sender: httpx.AsyncClient) -> None:
        for _ in left:
            body = {"model": proxy.model, "messages": MESSAGES, **told}
            try:
                answer = await sender.post("/v1/chat/completions", json=body)
            except httpx.HTTPError:
                # It was killed meanwhile.
                return
            statuses.append(answer.status_code)

    async with client(proxy) as sender:
        await asyncio.gather(*(ask(sender) for _ in range(CLIENTS)))
    return statuses


async def provided(proxy: Proxy) -> int:
    """Return how many requests the provider has answered."""
    async with httpx.AsyncClient() as sender:
        answer = await sender.get(f"{proxy.services.mock_url}/_mock/journal")
    return sum(json.loads(line)["status"] == 200 for line in answer.text.splitlines())


async def reset(proxy: Proxy) -> None:
    async with httpx.AsyncClient() as sender:
        (await sender.post(f"{proxy.services.mock_url}/_mock/reset")).raise_for_status()


async def until(holds: Any) -> None:
    async with asyncio.timeout(90):
        while not holds():
            await asyncio.sleep(0.05)


async def test_every_request_has_a_record_whatever_its_outcome(below: Stack) -> None:
    spec = ProxySpec(journal=Journal.SQLITE, rotation=Rotation.EVENKEEL)
    async with below.proxy(spec) as proxy:
        path = file_of(proxy)
        await asked(proxy, REQUESTS)
        await asked(proxy, 20, stream=True)
        assert set(await asked(proxy, 5, model="absent")) == {400}
        async with client(proxy) as sender:
            stranger = {"Authorization": "Bearer sk-not-mine"}
            answer = await sender.post(
                "/v1/chat/completions", json={"model": "gpt-4o-mini", "messages": MESSAGES}, headers=stranger
            )
            assert answer.status_code == 401
            health = (await sender.get("/evenkeel/journal/health")).json()
        await until(lambda: len(rows(path)) >= REQUESTS + 26)
        found = rows(path)
        assert len(found) == REQUESTS + 26
        answered = [record for record in found if record.status == 200]
        assert len(answered) == REQUESTS + 20
        assert {record.reason for record in answered} <= {"strategy", "pinned"}
        assert all(
            record.account and record.deployment and record.prompt_tokens and record.latency for record in answered
        )
        assert sum(record.is_stream for record in answered) == 20
        assert all(0 < (record.first_token or 0) <= record.latency for record in answered if record.is_stream)
        assert sorted(record.status for record in found if record.status != 200) == [400] * 5 + [401]
        assert not any("sk-" in record.key for record in found)
        assert len({record.key for record in found if record.status != 401}) == 1
        assert health["stores"][0]["store"] == "sqlite"
        assert health["errors"] == {}


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_proxy_that_is_stopped_loses_no_record(below: Stack, tmp_path: Path, workers: int) -> None:
    # Only the end of the proxy can write records with this interval.
    settings = {"evenkeel": {"journal": {"flush_interval": 600}}}
    async with below.proxy(ProxySpec(journal=Journal.SQLITE, workers=workers, settings=settings)) as proxy:
        path = file_of(proxy)
        await reset(proxy)
        statuses = await asked(proxy, 200)
        assert set(statuses) == {200}
        assert not path.exists() or rows(path) == []
        # At once: what was answered last is still on its way to the callbacks.
        kept = tmp_path / "kept.db"
        assert proxy.info.pid is not None
        main = psutil.Process(proxy.info.pid)
        main.terminate()
        main.wait(60)
        with closing(sqlite3.connect(path)) as file, closing(sqlite3.connect(kept)) as copy:
            file.backup(copy)
        assert len(rows(kept)) == len(statuses) <= await provided(proxy)


async def test_a_killed_proxy_loses_only_its_last_records(below: Stack) -> None:
    async with below.proxy(ProxySpec(journal=Journal.SQLITE)) as proxy:
        path = file_of(proxy)
        await reset(proxy)
        asking = asyncio.create_task(asked(proxy, 2_000))
        await until(lambda: path.exists() and len(rows(path)) >= 200)
        assert proxy.info.pid is not None
        for one in (psutil.Process(proxy.info.pid), *psutil.Process(proxy.info.pid).children(recursive=True)):
            if "litellm" in " ".join(one.cmdline()):
                one.send_signal(signal.SIGKILL)
        await asking
        lost = await provided(proxy) - len(rows(path))
        # Those whose answers were on their way, and those of the last interval.
        assert 0 <= lost <= 2 * CLIENTS + 20


@pytest.mark.thorough
async def test_postgres_stores_records(below: Stack) -> None:
    async with below.proxy(ProxySpec(journal=Journal.POSTGRES)) as proxy:
        assert set(await asked(proxy, 30)) == {200}
        async with client(proxy) as sender:

            async def written() -> int:
                health = (await sender.get("/evenkeel/journal/health")).json()
                return int(health["stores"][0]["written"])

            async with asyncio.timeout(30):
                while await written() < 30:
                    await asyncio.sleep(0.1)
