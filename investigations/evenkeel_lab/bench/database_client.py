"""A hundred reads at once: through LiteLLM's database client and its query engine, or through asyncpg.

It tells whether a burst waits for the database, or for what stands before it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.litellm.config import ProxySpec
from evenkeel_lab.stack.stack import Options, stack

SCRIPT = Path(__file__).with_name("database_reads.py")
MS = 1000


def reads_at_once(seed: int, *, client: str = "prisma") -> float:
    """Return the milliseconds from the first of a hundred concurrent reads to the end of the last; the mean of five."""
    del seed
    return asyncio.run(_reads_at_once(client))


async def _reads_at_once(client: str) -> float:
    async with stack(Options()) as below, below.proxy(ProxySpec()) as proxy:
        assert proxy.info.pid is not None
        process = await asyncio.create_subprocess_exec(
            proxy.services.environment.python,
            SCRIPT,
            client,
            env=psutil.Process(proxy.info.pid).environ(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = (text.decode("utf-8", "replace").strip() for text in await process.communicate())
        if process.returncode:
            what = f"The reads through {client} failed: {errors.rpartition(chr(10))[2]}"
            raise RigFailure(what, hint="See the details above.", details=errors)
        return float(output.rpartition("\n")[2]) * MS
