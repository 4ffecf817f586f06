"""Read from LiteLLM's database a hundred times at once, and print the mean seconds until all reads are done.

This script runs in LiteLLM's environment, with the environment variables of a proxy.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

READS, WARM_UPS, ROUNDS = 100, 3, 5
CONNECTIONS = 10
QUERY = 'SELECT * FROM "LiteLLM_VerificationToken" WHERE token = $1'


async def through_prisma() -> float:
    """Read through LiteLLM's database client and its query engine."""
    from prisma import Prisma  # noqa: PLC0415 - only LiteLLM's environment has it

    database: Any = Prisma()
    await database.connect()
    try:
        return await mean_seconds(lambda: database.litellm_verificationtoken.find_unique(where={"token": "none"}))
    finally:
        await database.disconnect()


async def through_asyncpg() -> float:
    """Read through asyncpg, with as many connections as the query engine has."""
    import asyncpg  # noqa: PLC0415 - as above

    address = os.environ["DATABASE_URL"].partition("?")[0]
    async with asyncpg.create_pool(address, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        return await mean_seconds(lambda: pool.fetchrow(QUERY, "none"))


async def mean_seconds(read: Callable[[], Awaitable[object]]) -> float:
    """Return the mean duration of a hundred concurrent reads."""
    for _ in range(WARM_UPS):
        await asyncio.gather(*(read() for _ in range(READS)))
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await asyncio.gather(*(read() for _ in range(READS)))
    return (time.perf_counter() - began) / ROUNDS


CLIENTS = {"prisma": through_prisma, "asyncpg": through_asyncpg}


if __name__ == "__main__":
    sys.stdout.write(f"\n{asyncio.run(CLIENTS[sys.argv[1]]())}\n")
