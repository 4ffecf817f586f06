"""Waiting for something that may never come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

Found = TypeVar("Found")

# Where a loop was busy for too long, what is waited for may have come and not been looked at yet.
GRACE_SECONDS = 0.02


async def run_with_timeout(work: Coroutine[object, object, Found], seconds: float) -> Found:
    """Return what comes of it; `TimeoutError` if it takes longer, even if it will not be interrupted."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait((task,), timeout=seconds)
        if not done:
            done, _ = await asyncio.wait((task,), timeout=GRACE_SECONDS)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forgotten)
    if not done:
        raise TimeoutError
    return task.result()


def _forgotten(task: asyncio.Task[Found]) -> None:
    """Look at how it ended, so that asyncio does not complain that nobody has."""
    if not task.cancelled():
        task.exception()
