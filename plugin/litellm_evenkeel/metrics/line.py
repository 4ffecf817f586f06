"""What was taken in and waits to be counted: counted in batches, in the order in which it came, a little at a time."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.plans import Bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.metrics.children import Child
    from litellm_evenkeel.metrics.families import Store

LOG = logging.getLogger("litellm_evenkeel.metrics")
# So many at once, that are much alike.
BATCH = 128
# For so long at a time, then others have the loop; for longer where much waits.
AT_A_TIME, MUCH = 0.0005, 1_000
# So many wait before somebody looks at them at once.
MANY = 512
QUIET_SECONDS = 60.0


class Line:
    """One worker's. Things come from any thread, and are counted in one loop."""

    def __init__(self, store: Store, *, every: float, most: int) -> None:
        self._store, self._every, self._most = store, every, most
        self._waiting: deque[tuple[Bundle | Child, Any]] = deque()
        self._batch: Iterator[None] | None = None
        self._left = 0
        """How many of the batch are to be counted yet."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_due = False
        self._quiet_until = -math.inf
        self.dropped: Counter[str] = Counter()
        """What was not counted, and why."""
        self.busy = 0.0
        """Seconds that counting took."""
        self.flushed: Callable[[], None] = lambda: None
        """What is to be done when all that waited has been counted."""
        store.later, store.is_waiting = self.later, self._is_waiting

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting) + self._left

    def take(self, bundle: Bundle, numbers: Any) -> None:
        """Take in what is to be done with a bundle of series."""
        if len(self._waiting) >= self._most:
            self.dropped["full"] += 1
            return
        self._waiting.append((bundle, numbers))
        self._wake()

    def later(self, child: Child, value: float | None) -> bool:
        """Let a series be so much, or gone, when what came before has been done; return whether it waits."""
        if not self._is_waiting() or len(self._waiting) >= self._most:
            return False
        self._waiting.append((child, value))
        return True

    def flush(self) -> None:
        """Count all that waits, at once."""
        self._count(lambda: False)

    async def drain(self) -> None:
        """Count all that waits now, letting others have the loop."""
        left = self.waiting
        while left > 0 and self.waiting:
            before = self.waiting
            self._count_a_little()
            left -= max(before - self.waiting, 0)
            await asyncio.sleep(0)

    def _is_waiting(self) -> bool:
        return bool(self._waiting) or self._batch is not None

    def _count_a_little(self) -> None:
        ends = time.perf_counter() + AT_A_TIME * (1 + len(self._waiting) / MUCH)
        self._count(lambda: time.perf_counter() >= ends)

    def _count(self, is_enough: Callable[[], bool]) -> None:
        began = time.perf_counter()
        while self._batch is not None or self._waiting:
            self._batch = self._batch or self._counting()
            if next(self._batch, self) is self:
                self._batch = None
            elif is_enough():
                break
        if self._batch is None:
            self.flushed()
        self.busy += time.perf_counter() - began

    def _counting(self) -> Iterator[None]:
        """Count a batch; yields where it may be left for a while."""
        several: dict[Bundle, list[Any]] = {}
        latest: dict[Bundle, int] = {}
        self._left = min(len(self._waiting), BATCH)
        for number in range(self._left):
            one, told = self._waiting.popleft()
            if isinstance(one, Bundle):
                several.setdefault(one, []).append(told)
                latest[one] = number
                continue
            yield from self._applying(several, latest)
            with self._store.lock:
                one.put(told, time.time())
            self._left -= 1
        yield from self._applying(several, latest)

    def _applying(self, several: dict[Bundle, list[Any]], latest: dict[Bundle, int]) -> Iterator[None]:
        # What several of them set is as the latest says.
        for bundle in sorted(several, key=latest.__getitem__):
            try:
                with self._store.lock:
                    bundle.apply(several[bundle], time.time())
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are counted
                self.dropped["error"] += len(several[bundle])
                self._complain(error)
            self._left -= len(several[bundle])
            yield
        several.clear()

    def _complain(self, error: Exception) -> None:
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            LOG.warning("evenkeel: events could not be counted (%s).", type(error).__name__)

    def _wake(self) -> None:
        number = len(self._waiting)
        if self._is_due and number != MANY:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._loop is None or self._loop.is_closed():
            self._loop = loop
        self._is_due = True
        if loop is not self._loop:
            self._loop.call_soon_threadsafe(self._soon)
        elif number >= MANY:
            loop.call_soon(self._go_on)
        else:
            loop.call_later(self._every, self._go_on)

    def _soon(self) -> None:
        assert self._loop is not None
        self._loop.call_later(self._every, self._go_on)

    def _go_on(self) -> None:
        self._count_a_little()
        if self.waiting and self._loop is not None:
            self._loop.call_soon(self._go_on)
        else:
            self._is_due = False
