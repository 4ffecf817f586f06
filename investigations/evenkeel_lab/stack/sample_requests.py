"""A few chat requests to a proxy, to warm it up."""

from __future__ import annotations

import asyncio

import httpx

from evenkeel_lab.stack.http_client import client

ANSWER_SECONDS = 60.0


async def ask(url: str, key: str, model: str, *, times: int, at_once: int) -> None:
    """Send `times` chat requests, `at_once` at a time. Answers are ignored."""
    body = {"model": model, "messages": [{"role": "user", "content": "ahoy"}]}
    waiting = asyncio.Semaphore(at_once)
    headers = {"authorization": f"Bearer {key}"}
    # One connection per request, so that the requests are spread over the workers.
    limits = httpx.Limits(max_keepalive_connections=0)

    async def send_request(asking: httpx.AsyncClient) -> None:
        async with waiting:
            await asking.post("/v1/chat/completions", json=body)

    async with client(seconds=ANSWER_SECONDS, base_url=url, headers=headers, limits=limits) as asking:
        await asyncio.gather(*(send_request(asking) for _ in range(times)))
