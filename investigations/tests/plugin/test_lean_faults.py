"""A proxy with the lean callback while Redis or the database fails, beside LiteLLM's own. Slow: both are real."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, NamedTuple

import httpx
import psutil
import pytest

from evenkeel_lab.stack.litellm.config import MODEL, ProxySpec
from evenkeel_lab.stack.litellm.fixtures import create
from evenkeel_lab.stack.stack import Options, stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

LEAN = {"litellm_settings": {"callbacks": ["litellm_evenkeel.proxy.lean"]}}
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "ahoy"}]}
PERIOD, PATIENCE = 0.25, 60.0
"""Seconds between requests, and those after which one has failed."""
BEFORE, FAULT, AFTER = 5.0, 12.0, 20.0
# Requests at the edges of a fault may or may not be hit.
EDGE_REQUESTS = 4


class Answer(NamedTuple):
    """Status of a request, 0 if it got no answer, and its time in seconds."""

    status: int
    seconds: float


def processes(pid: int) -> list[psutil.Process]:
    main = psutil.Process(pid)
    return [main, *main.children(recursive=True)]


@contextlib.asynccontextmanager
async def hanging(pid: int) -> AsyncIterator[None]:
    """Suspend a server during the block."""
    suspended = processes(pid)
    for process in suspended:
        process.suspend()
    try:
        yield
    finally:
        for process in suspended:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


@contextlib.asynccontextmanager
async def killed(pid: int) -> AsyncIterator[None]:
    """Kill a server. It does not come back."""
    for process in processes(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    yield


async def ask(http: httpx.AsyncClient, proxy: Proxy, key: str) -> Answer:
    began = time.monotonic()
    try:
        response = await http.post(
            f"{proxy.url}/v1/chat/completions", json=BODY, headers={"Authorization": f"Bearer {key}"}
        )
    except httpx.HTTPError:
        return Answer(0, time.monotonic() - began)
    return Answer(response.status_code, time.monotonic() - began)


async def answers(proxy: Proxy, key: str, seconds: float) -> list[Answer]:
    """Send a request each quarter of a second, whether the last one has been answered or not."""
    async with httpx.AsyncClient(timeout=PATIENCE) as http, asyncio.TaskGroup() as group:
        tasks = []
        for _ in range(int(seconds / PERIOD)):
            tasks.append(group.create_task(ask(http, proxy, key)))
            await asyncio.sleep(PERIOD)
    return [task.result() for task in tasks]


def failures(got: list[Answer]) -> int:
    return sum(answer.status != httpx.codes.OK for answer in got)


def slowest(got: list[Answer]) -> float:
    return max(answer.seconds for answer in got)


@pytest.mark.parametrize("fault", [hanging, killed])
@pytest.mark.parametrize("server", ["valkey", "postgres"])
async def test_a_fault_leaves_a_proxy_no_worse_than_without_the_callback(
    server: str, fault: Callable[[int], contextlib.AbstractAsyncContextManager[None]]
) -> None:
    async with stack(Options()) as below, both(below) as (stock, lean):
        keys = [(await create(proxy)).key for proxy in (stock, lean)]
        loads = [
            asyncio.create_task(answers(proxy, key, BEFORE + FAULT + AFTER))
            for proxy, key in zip((stock, lean), keys, strict=True)
        ]
        await asyncio.sleep(BEFORE)
        async with fault(getattr(below, server).info.pid):
            await asyncio.sleep(FAULT)
        of_stock, of_lean = await asyncio.gather(*loads)
    logging.getLogger(__name__).info(
        "%s, %s: %d and %d failures, slowest %.1f and %.1f s",
        *(server, fault.__name__, failures(of_stock), failures(of_lean), slowest(of_stock), slowest(of_lean)),
    )
    assert failures(of_lean) <= failures(of_stock) + EDGE_REQUESTS
    assert slowest(of_lean) <= slowest(of_stock) * 1.25 + PERIOD * EDGE_REQUESTS


@contextlib.asynccontextmanager
async def both(below: Stack) -> AsyncIterator[tuple[Proxy, Proxy]]:
    """Run a proxy without the callback and one with it, each with databases of its own."""
    async with (
        below.proxy(ProxySpec(), name="stock", database_number=1) as stock,
        below.proxy(ProxySpec(settings=LEAN), name="lean", database_number=2) as lean,
    ):
        yield stock, lean
