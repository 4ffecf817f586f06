"""Requests to a proxy at random times, a part of them streams, and clients that leave."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.timed_requests import send_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from evenkeel_lab.chaos.rig import Subject
    from evenkeel_lab.stack.timed_requests import TimedRequest

CLIENT_SECONDS = 20.0
STREAM_SHARE = 0.3
# With ever new prompts, sessions would grow for as long as they are kept.
PROMPTS = 300
# Streams of about two seconds, at half of which they have begun.
SLOW = "slow=10"


def due_times(rate: float, seconds: float, seed: int) -> list[float]:
    """Return the times of requests that come at random, `rate` a second on average."""
    draw, now, times = random.Random(seed), 0.0, []
    while (now := now + draw.expovariate(rate)) < seconds:
        times.append(now)
    return times


async def send_to(subject: Subject, due: Sequence[float], start: float, key: str = "") -> list[TimedRequest]:
    """Send requests to a proxy when they are due, `start` being the beginning by the monotonic clock."""
    requests = [(at, _body(subject, number)) for number, at in enumerate(due)]
    return await send_all(subject.proxy.url, key or subject.key, requests, start, seconds=CLIENT_SECONDS)


def _body(subject: Subject, number: int) -> dict[str, Any]:
    return {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": f"request {number % PROMPTS}"}],
        "stream": random.Random(number).random() < STREAM_SHARE,
        "user": subject.customers[number % len(subject.customers)],
    }


async def leave_streams(subject: Subject, clients: int) -> int:
    """Begin slow streams of `clients`, which leave with the first event. Return how many left before the end."""

    async def leave() -> bool:
        async with _slow_stream(subject) as response:
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    return "[DONE]" not in line
        return False

    left = await asyncio.gather(*(leave() for _ in range(clients)), return_exceptions=True)
    return sum(each is True for each in left)


async def slow_streams(subject: Subject, clients: int) -> int:
    """Begin slow streams of `clients`, and return how many broke off."""

    async def is_broken() -> bool:
        try:
            async with _slow_stream(subject) as response:
                lines = [line async for line in response.aiter_lines()]
        except httpx.HTTPError:
            return True
        return not any("[DONE]" in line for line in lines)

    return sum(await asyncio.gather(*(is_broken() for _ in range(clients))))


@contextlib.asynccontextmanager
async def _slow_stream(subject: Subject) -> AsyncIterator[httpx.Response]:
    headers = {"authorization": f"Bearer {subject.key}"}
    body = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "a long story"}],
        "stream": True,
        "extra_headers": {"x-mock-fault": SLOW},
    }
    async with (
        client(seconds=CLIENT_SECONDS) as sending,
        sending.stream("POST", f"{subject.proxy.url}/v1/chat/completions", json=body, headers=headers) as response,
    ):
        yield response
