"""A few requests to a proxy, for what they leave behind in it."""

from __future__ import annotations

import asyncio

import httpx

from evenkeel_lab.stack.http_client import client

ANSWER_SECONDS = 60.0


async def ask(url: str, key: str, model: str, *, times: int, at_once: int) -> None:
    """Ask so many times for an answer, whatever comes of it."""
    body = {"model": model, "messages": [{"role": "user", "content": "ahoy"}]}
    waiting = asyncio.Semaphore(at_once)
    headers = {"authorization": f"Bearer {key}"}
    # A connection for each request: of several workers, most of them shall hear of it.
    alone = httpx.Limits(max_keepalive_connections=0)

    async def once(asking: httpx.AsyncClient) -> None:
        async with waiting:
            await asking.post("/v1/chat/completions", json=body)

    async with client(seconds=ANSWER_SECONDS, base_url=url, headers=headers, limits=alone) as asking:
        await asyncio.gather(*(once(asking) for _ in range(times)))
