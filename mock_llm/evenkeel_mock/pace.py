"""Sends the chunks of all streams at their times, with one timer for all of them.

A timer and a wake-up for each chunk of each stream would cost more than the chunk. Here one callback runs every
millisecond as long as there are streams, and sends whatever is due.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

TICK_SECONDS = 0.001


class Stream:
    """One answer on its way: what is left to send, and when."""

    __slots__ = ("_chunks", "_done", "_gaps", "_next", "_send")

    def __init__(self, send: Callable[[bytes], object], chunks: Sequence[bytes], gaps: Sequence[float] | float) -> None:
        self._send = send
        self._chunks = chunks
        self._gaps = gaps
        self._next = 0
        self._done: asyncio.Future[None] | None = None

    def step(self, due: float) -> float | None:
        """Send the chunk that is due; return when the next one is, None after the last.

        Times count from when a chunk was due, not from when it was sent: lateness does not add up.
        """
        number = self._next
        self._send(self._chunks[number])
        self._next = number = number + 1
        if number == len(self._chunks):
            self.finish()
            return None
        gaps = self._gaps
        return due + (gaps if isinstance(gaps, float) else gaps[number])

    def stop(self) -> None:
        """Send nothing any more: the client has left."""
        self._chunks = self._chunks[: self._next + 1]
        self._send = _nowhere

    def finish(self) -> None:
        """Wake up whoever waits for the end."""
        if self._done is not None and not self._done.done():
            self._done.set_result(None)

    def until_sent(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Return what is done when the last chunk has been sent."""
        self._done = loop.create_future()
        return self._done


def _nowhere(_: bytes) -> None:
    """Send to a client that has left."""


class Pacer:
    """The timer of one worker process."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Stream]] = []
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, stream: Stream, first_due: float, loop: asyncio.AbstractEventLoop) -> None:
        """Take charge of a stream, whose first chunk is due at a time of the loop's clock."""
        self._number += 1
        heapq.heappush(self._due, (first_due, self._number, stream))
        if self._timer is None:
            self._timer = loop.call_later(TICK_SECONDS, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        due, now = self._due, loop.time()
        while due and due[0][0] <= now:
            when, number, stream = due[0]
            following = stream.step(when)
            if following is None:
                heapq.heappop(due)
            else:
                heapq.heapreplace(due, (following, number, stream))
        self._timer = loop.call_later(TICK_SECONDS, self._tick, loop) if due else None
