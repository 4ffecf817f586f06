"""A time limit for coroutines that may ignore their cancellation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

Result = TypeVar("Result")

# After the loop was busy for long, the result may be there already and only wait for its turn.
GRACE_SECONDS = 0.02


async def run_with_timeout(work: Coroutine[object, object, Result], seconds: float) -> Result:
    """Return the result of `work`; raise `TimeoutError` after `seconds`, even if `work` ignores its cancellation."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait((task,), timeout=seconds)
        if not done:
            done, _ = await asyncio.wait((task,), timeout=GRACE_SECONDS)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_retrieve_exception)
    if not done:
        raise TimeoutError
    return task.result()


def _retrieve_exception(task: asyncio.Task[Result]) -> None:
    """Retrieve the exception of an abandoned task, as asyncio warns about exceptions that are never retrieved."""
    if not task.cancelled():
        task.exception()
