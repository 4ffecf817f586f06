"""Chat requests to a proxy that are due at given times, and what their client saw of each."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_lab.stack.http_client import client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Body = Mapping[str, Any]

OK = 200
# A connection that the proxy closes while it is idle would fail the next request.
KEEP_ALIVE_SECONDS, MAX_KEPT = 2.0, 20


@dataclass(frozen=True)
class TimedRequest:
    """A request as its client saw it. Times are seconds from the beginning of all of them."""

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


async def send_all(
    url: str,
    key: str,
    requests: Iterable[tuple[float, Body]],
    start: float,
    *,
    seconds: float,
    on_end: Callable[[TimedRequest], None] = lambda _: None,
) -> list[TimedRequest]:
    """Send each body when it is due, in seconds after `start` by the monotonic clock.

    A request ends after `seconds` at the latest. `on_end` is called as each one ends.
    """
    headers = {"authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=MAX_KEPT, keepalive_expiry=KEEP_ALIVE_SECONDS)

    async def send(sending: httpx.AsyncClient, due: float, body: Body) -> TimedRequest:
        await asyncio.sleep(max(start + due - time.monotonic(), 0.0))
        status = await _status(sending, body)
        request = TimedRequest(due, time.monotonic() - start, status)
        on_end(request)
        return request

    async with client(seconds=seconds, base_url=url, headers=headers, limits=limits) as sending:
        return list(await asyncio.gather(*(send(sending, due, body) for due, body in requests)))


async def _status(sending: httpx.AsyncClient, body: Body) -> int:
    try:
        async with sending.stream("POST", "/v1/chat/completions", json=body) as response:
            text = await response.aread()
    except httpx.HTTPError:
        return 0
    is_whole = not body.get("stream") or b"data: [DONE]" in text
    return response.status_code if response.is_error or is_whole else 0
