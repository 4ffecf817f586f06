"""A queue in front of the database client, so that requests to it are served first in, first out.

LiteLLM's database client speaks HTTP to its query engine, through httpcore. There, a connection that becomes idle is
assigned to every waiting request at once: one gets it, and all others try again. So requests overtake each other, some
wait for many seconds, and each attempt takes CPU time in proportion to the number of connections.

Requests of a transaction do not wait in the queue: those that have left it may wait for the locks of the transaction.
"""

from __future__ import annotations

import asyncio
from typing import Any

from prisma._async_http import HTTP

# More than the connections that LiteLLM gives the query engine by default: the engine never runs short of requests.
MOST_IN_FLIGHT = 32
# How the query engine knows a transaction's requests.
TRANSACTION_PATH, TRANSACTION_HEADER = "/transaction/", "X-transaction-id"


def queue_database_requests() -> None:
    """Make the database client send at most `MOST_IN_FLIGHT` requests at once; others wait in their order."""
    original = HTTP.request
    semaphores: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}

    async def request(client: HTTP, method: str, url: str, **named: Any) -> Any:
        if TRANSACTION_PATH in url or TRANSACTION_HEADER in (named.get("headers") or ()):
            return await original(client, method, url, **named)
        loop = asyncio.get_running_loop()
        semaphore = semaphores.get(loop) or semaphores.setdefault(loop, asyncio.Semaphore(MOST_IN_FLIGHT))
        async with semaphore:
            return await original(client, method, url, **named)

    HTTP.request = request
