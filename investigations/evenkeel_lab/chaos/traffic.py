"""Requests to a proxy at random times, a part of them streams, and clients that leave."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.timed_requests import send_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.chaos.rig import Subject
    from evenkeel_lab.stack.timed_requests import TimedRequest

CLIENT_SECONDS = 20.0
STREAM_SHARE = 0.3


def due_times(rate: float, seconds: float, seed: int) -> list[float]:
    """Return the times of requests that come at random, `rate` a second on average."""
    draw, now, times = random.Random(seed), 0.0, []
    while (now := now + draw.expovariate(rate)) < seconds:
        times.append(now)
    return times


async def send_to(subject: Subject, due: Sequence[float], start: float) -> list[TimedRequest]:
    """Send requests to a proxy when they are due, `start` being the beginning by the monotonic clock."""
    requests = [(at, _body(subject, number, at)) for number, at in enumerate(due)]
    return await send_all(subject.proxy.url, subject.key, requests, start, seconds=CLIENT_SECONDS)


def _body(subject: Subject, number: int, due: float) -> dict[str, Any]:
    return {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": f"request {number} at {due:.3f}"}],
        "stream": random.Random(number).random() < STREAM_SHARE,
        "user": subject.customers[number % len(subject.customers)],
    }


async def leave_early(subject: Subject, clients: int, seconds: float) -> None:
    """Begin streams of `clients`, and disconnect them after `seconds`."""
    headers = {"authorization": f"Bearer {subject.key}"}
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "a long story"}], "stream": True}

    async def leave() -> None:
        try:
            async with asyncio.timeout(seconds), client(seconds=CLIENT_SECONDS) as leaving:
                await leaving.post(f"{subject.proxy.url}/v1/chat/completions", json=body, headers=headers)
        except (TimeoutError, httpx.HTTPError):
            pass

    await asyncio.gather(*(leave() for _ in range(clients)))
