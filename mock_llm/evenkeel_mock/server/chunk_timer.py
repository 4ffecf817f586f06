"""Sends the chunks of all streams at their times, with one timer for all of them.

A timer and a wake-up for each chunk of each stream would cost more than the chunk. Here one callback runs every
millisecond as long as there are streams, and sends whatever is due.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TICK_SECONDS = 0.001


class Stream:
    """One answer on its way: what is left to send, and when."""

    __slots__ = ("_chunks", "_ended", "_failed", "_gaps", "_next", "_send")

    def __init__(
        self,
        send: Callable[[bytes], None],
        chunks: Sequence[bytes],
        gaps: Sequence[float] | float,
        ended: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._send = send
        self._chunks = chunks
        self._gaps = gaps
        self._ended = ended
        """To be called after the last chunk."""
        self._failed = failed
        """To be called with an error: this stream ends, others go on."""
        self._next = 0

    def step(self, due: float) -> float | None:
        """Send the chunk that is due; return when the next one is, None if there is none.

        Times count from when a chunk was due, not from when it was sent: lateness does not add up.
        """
        number, chunks = self._next, self._chunks
        if not chunks:
            return None
        try:
            self._send(chunks[number])
            self._next = number = number + 1
            if number == len(chunks):
                self._ended()
                return None
        except Exception as error:  # noqa: BLE001  # other streams depend on the same timer
            self.stop()
            self._failed(error)
            return None
        gaps = self._gaps
        return due + (gaps if isinstance(gaps, float) else gaps[number])

    def stop(self) -> None:
        """Send nothing any more: the client has left."""
        self._chunks = ()


class Pacer:
    """The timer of one worker process."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Stream]] = []
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rings = 0.0

    def add(self, stream: Stream) -> None:
        """Take charge of a stream: its first chunk is sent now."""
        following = stream.step(time.monotonic())
        if following is None:
            return
        self._number += 1
        heapq.heappush(self._due, (following, self._number, stream))
        if self._timer is not None and following < self._rings:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._wind()

    def _wind(self) -> None:
        """Ring when the next chunk is due, but not before a tick has passed."""
        now = time.monotonic()
        self._rings = max(self._due[0][0], now + TICK_SECONDS)
        self._timer = asyncio.get_running_loop().call_later(self._rings - now, self._tick)

    def _tick(self) -> None:
        due, now = self._due, time.monotonic()
        self._timer = None
        while due and due[0][0] <= now:
            when, number, stream = due[0]
            following = stream.step(when)
            if following is None:
                heapq.heappop(due)
            else:
                heapq.heapreplace(due, (following, number, stream))
        if due:
            self._wind()
