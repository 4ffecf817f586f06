"""Reads that concurrent requests share: a hundred requests for one value cause two reads of it, not a hundred."""

from __future__ import annotations

import asyncio
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

Value = TypeVar("Value")


class SharedReads(Generic[Value]):
    """Reads of which at most one runs for each key.

    A caller never gets a value that was read before its call: if a read of its key is running, the caller shares the
    next one with all others that wait for it. So the value is as fresh as that of a read of its own.

    A read belongs to no request. So it has an empty context, without the variables of the request that causes it, and
    a caller that is cancelled does not end it.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[Value]] = {}
        self._next: dict[Hashable, asyncio.Task[Value]] = {}

    async def read(self, key: Hashable, read: Callable[[], Awaitable[Value]]) -> Value:
        """Return the value of a read of `key` that begins after this call."""
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._run(key, read), context=Context())
            task.add_done_callback(partial(self._end, key))
        return await asyncio.shield(task)

    async def _run(self, key: Hashable, read: Callable[[], Awaitable[Value]]) -> Value:
        """Read once the running read of the key has ended."""
        if running := self._running.get(key):
            await asyncio.wait([running])
        self._running[key] = self._next.pop(key)
        return await read()

    def _end(self, key: Hashable, task: asyncio.Task[Value]) -> None:
        """Forget a read that has ended, also one that was cancelled before it began."""
        for tasks in (self._running, self._next):
            if tasks.get(key) is task:
                del tasks[key]
        if not task.cancelled():
            # It counts as retrieved: the callers that wait for it may all have been cancelled.
            task.exception()
