"""Requests to a proxy at random times, and what their client saw of each."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from evenkeel_lab.stack.http_client import client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.chaos.rig import Subject

CLIENT_SECONDS = 20.0
STREAM_SHARE = 0.3
OK = 200


@dataclass(frozen=True)
class Request:
    """A request as its client saw it. Times are seconds from the beginning of the cell."""

    due: float
    end: float
    status: int
    """HTTP status; 0 if there was no whole response."""

    @property
    def is_served(self) -> bool:
        """Whether the client got a whole successful response."""
        return self.status == OK

    @property
    def latency(self) -> float:
        """Seconds from when it was due to the end of its response."""
        return self.end - self.due


def due_times(rate: float, seconds: float, seed: int) -> list[float]:
    """Return the times of requests that come at random, `rate` a second on average."""
    draw, now, times = random.Random(seed), 0.0, []
    while (now := now + draw.expovariate(rate)) < seconds:
        times.append(now)
    return times


async def send_all(subject: Subject, due: Sequence[float], start: float) -> list[Request]:
    """Send requests to a proxy when they are due, `start` being the beginning by the monotonic clock."""
    headers = {"authorization": f"Bearer {subject.key}"}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=2.0)
    async with client(seconds=CLIENT_SECONDS, base_url=subject.proxy.url, headers=headers, limits=limits) as sending:
        return list(
            await asyncio.gather(*(_send(sending, subject, number, at, start) for number, at in enumerate(due)))
        )


async def _send(sending: httpx.AsyncClient, subject: Subject, number: int, due: float, start: float) -> Request:
    await asyncio.sleep(max(start + due - time.monotonic(), 0.0))
    stream = random.Random(number).random() < STREAM_SHARE
    body = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": f"request {number} at {due:.3f}"}],
        "stream": stream,
        "user": subject.customers[number % len(subject.customers)],
    }
    try:
        async with sending.stream("POST", "/v1/chat/completions", json=body) as response:
            text = await response.aread()
        is_whole = not stream or b"data: [DONE]" in text
        status = response.status_code if response.is_error or is_whole else 0
    except httpx.HTTPError:
        status = 0
    return Request(due, time.monotonic() - start, status)


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
