"""A queue in front of the database client, so that requests to it are served first in, first out.

LiteLLM's database client speaks HTTP to its query engine, through httpcore. There, a connection that becomes idle is
assigned to every waiting request at once: one gets it, and all others try again. So requests overtake each other, some
wait for many seconds, and each attempt takes CPU time in proportion to the number of connections.

Each query engine has a queue of its own: if that of a read replica hangs, the one that writes is not delayed. Requests
of an interactive transaction do not wait in a queue: those that have left it may wait for the locks of the transaction.
Neither does the question whether an engine is alive.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from weakref import WeakKeyDictionary

import httpx
from prisma._async_http import HTTP

if TYPE_CHECKING:
    from collections.abc import Mapping

# More than the connections that LiteLLM gives the query engine by default: the engine never runs short of requests.
MOST_IN_FLIGHT = 32
# LiteLLM's command writes the number of connections into these addresses.
ADDRESSES, CONNECTIONS = ("DATABASE_URL", "DATABASE_URL_READ_REPLICA"), "connection_limit"
# The client itself waits no longer for a connection.
SECONDS = 30.0
# How the query engine knows a transaction's requests, and the request that asks whether it is alive.
TRANSACTION_PATH, TRANSACTION_HEADER, STATUS_PATH = "/transaction/", "X-transaction-id", "/status"


def queue_database_requests() -> None:
    """Make the database client send few requests at once to a query engine; others wait in their order."""
    original, most = HTTP.request, most_in_flight(os.environ)
    queues: WeakKeyDictionary[Any, asyncio.Semaphore] = WeakKeyDictionary()

    async def request(client: HTTP, method: str, url: str, **named: Any) -> Any:
        if TRANSACTION_PATH in url or TRANSACTION_HEADER in (named.get("headers") or ()) or url.endswith(STATUS_PATH):
            return await original(client, method, url, **named)
        # An engine has a session of its own, and a session belongs to one event loop.
        session = client.session
        queue = queues.get(session) or queues.setdefault(session, asyncio.Semaphore(most))
        try:
            async with asyncio.timeout(SECONDS):
                await queue.acquire()
        except TimeoutError:
            raise httpx.PoolTimeout(f"no answer from the query engine within {SECONDS:.0f} s") from None
        try:
            return await original(client, method, url, **named)
        finally:
            queue.release()

    HTTP.request = request


def most_in_flight(environ: Mapping[str, str]) -> int:
    """Return how many requests may be in flight: at least as many as a query engine has connections."""
    limits = [
        int(limit)
        for name in ADDRESSES
        for limit in parse_qs(urlsplit(environ.get(name, "")).query).get(CONNECTIONS, ())
        if limit.isdecimal()
    ]
    return max(MOST_IN_FLIGHT, *limits, 0)
