"""A time limit for coroutines that may ignore their cancellation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

Result = TypeVar("Result")


async def run_with_timeout(work: Coroutine[object, object, Result], seconds: float, *, grace: float = 0.0) -> Result:
    """Return the result of `work`; raise `TimeoutError` after `seconds`, even if `work` ignores its cancellation.

    `grace` is a second, short wait in seconds: if the event loop was busy for long, the result may exist already.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=seconds)
        if grace and not task.done():
            await asyncio.wait((task,), timeout=grace)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_retrieve_exception)
    if not task.done() or task.cancelled():
        raise TimeoutError
    return task.result()


def _retrieve_exception(task: asyncio.Task[Result]) -> None:
    """Retrieve the exception of an abandoned task, as asyncio warns about exceptions that are never retrieved."""
    if not task.cancelled():
        task.exception()
