"""A proxy whose database fails: what its clients, its log and its metrics show of it, with either callback."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import TYPE_CHECKING, NamedTuple

import asyncpg
import httpx
import numpy as np
import psutil

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.runner.function import Measured
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.config import MODEL, Prometheus, ProxySpec
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION
from evenkeel_lab.stack.litellm.fixtures import create
from evenkeel_lab.stack.stack import Options, stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

# Caches of keys and budgets are short, so that lookups reach the database within the fault.
CACHE_SECONDS = 5
SETTINGS = {"general_settings": {"user_api_key_cache_ttl": CACHE_SECONDS, "allow_requests_on_db_unavailable": True}}
ENV = {f"EVENKEEL_BUDGETS_{name}": str(CACHE_SECONDS) for name in ("TTL", "NEGATIVE_TTL")}
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "ahoy"}]}
PERIOD, TIMEOUT_SECONDS, MS = 0.25, 30.0, 1000
BEFORE_SECONDS, FAULT_SECONDS = 3.0, 20.0
# The words of either callback, and of LiteLLM's lookups below its own, for a lookup of a budget that failed.
IN_LOG = re.compile(
    r"evenkeel: .*budget|error (?:getting|fetching) (?:user|team|key) info|budget lookup failed", re.IGNORECASE
)
IN_METRICS = re.compile(r"^\w*budget\w*fail\w*\{.*\} (?!0(?:\.0)?$)\S+$", re.MULTILINE)
# Keys and teams are left alone: without them, no request gets past authentication to the callback.
TABLE = "LiteLLM_UserTable"


class Answer(NamedTuple):
    """Status of a request, 0 without an answer, and its time in seconds."""

    status: int
    seconds: float


async def requests(
    seed: int, *, fault: str = "dead", litellm: str = DEFAULT_VERSION, prometheus: str = Prometheus.STOCK
) -> Measured:
    """Send requests while Postgres is `dead`, `hanging`, or `failing`: queries of users are answered with an error."""
    del seed
    if fault not in FAULTS:
        raise WrongUse(f"There is no fault {fault!r}.", hint=f"One of {', '.join(FAULTS)}.")
    spec = ProxySpec(litellm, prometheus=Prometheus(prometheus), settings=SETTINGS, env=ENV)
    async with stack(Options()) as below, below.proxy(spec) as proxy:
        key = (await create(proxy)).key
        await _answers(proxy, key, BEFORE_SECONDS)
        begun = _size(proxy.info.log)
        async with FAULTS[fault](below, proxy):
            answers = await _answers(proxy, key, FAULT_SECONDS)
            metrics = await _metrics(proxy)
        log = _text_from(proxy.info.log, begun)
    served = [answer.seconds * MS for answer in answers if answer.status == httpx.codes.OK]
    figures = {
        "success_share": len(served) / len(answers),
        "seen_in_log": float(IN_LOG.search(log) is not None),
        "seen_in_metrics": float(IN_METRICS.search(metrics) is not None),
    }
    if served:
        p50, p95 = np.quantile(served, [0.5, 0.95])
        figures |= {"p50": float(p50), "p95": float(p95)}
    return Measured(figures, len(answers))


async def _answers(proxy: Proxy, key: str, seconds: float) -> list[Answer]:
    """Send a request each quarter of a second, whether the last one has been answered or not."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        client(seconds=TIMEOUT_SECONDS, base_url=proxy.url, headers=headers) as http,
        asyncio.TaskGroup() as group,
    ):
        tasks = []
        for _ in range(int(seconds / PERIOD)):
            tasks.append(group.create_task(_ask(http)))
            await asyncio.sleep(PERIOD)
    return [task.result() for task in tasks]


async def _ask(http: httpx.AsyncClient) -> Answer:
    began = time.monotonic()
    try:
        response = await http.post("/v1/chat/completions", json=BODY)
    except httpx.HTTPError:
        return Answer(0, time.monotonic() - began)
    return Answer(response.status_code, time.monotonic() - began)


async def _metrics(proxy: Proxy) -> str:
    headers = {"Authorization": f"Bearer {proxy.master_key}"}
    async with client(seconds=TIMEOUT_SECONDS, base_url=proxy.url, headers=headers) as http:
        with contextlib.suppress(httpx.HTTPError):
            return (await http.get("/metrics", follow_redirects=True)).text
    return ""


def _size(log: Path | None) -> int:
    return log.stat().st_size if log is not None and log.exists() else 0


def _text_from(log: Path | None, begun: int) -> str:
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(begun)
        return file.read().decode("utf-8", "replace")


def _processes(below: Stack) -> list[psutil.Process]:
    assert below.postgres.info.pid is not None
    main = psutil.Process(below.postgres.info.pid)
    return [main, *main.children(recursive=True)]


@contextlib.asynccontextmanager
async def _dead(below: Stack, _: Proxy) -> AsyncIterator[None]:
    for process in _processes(below):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    yield


@contextlib.asynccontextmanager
async def _hanging(below: Stack, _: Proxy) -> AsyncIterator[None]:
    suspended = _processes(below)
    for process in suspended:
        process.suspend()
    try:
        yield
    finally:
        for process in suspended:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


@contextlib.asynccontextmanager
async def _failing(_: Stack, proxy: Proxy) -> AsyncIterator[None]:
    connection = await asyncpg.connect(proxy.services.database_url.partition("?")[0])
    try:
        await connection.execute(f'ALTER TABLE "{TABLE}" RENAME TO "{TABLE}_gone"')
    finally:
        await connection.close()
    yield


FAULTS = {"dead": _dead, "hanging": _hanging, "failing": _failing}
