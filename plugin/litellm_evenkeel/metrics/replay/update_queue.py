"""What was taken in and waits to be counted: counted in batches, in the order in which it came, a little at a time."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.update_plan import BoundPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from litellm_evenkeel.metrics.registry.children import Child
    from litellm_evenkeel.metrics.registry.families import MetricStore

LOG = logging.getLogger("litellm_evenkeel.metrics")
# So many at once, that are much alike.
BATCH = 128
# For so long at a time, then others have the loop for so long; for longer where much waits.
AT_A_TIME, BETWEEN, MUCH = 0.0005, 0.002, 1_000
# So many wait before somebody looks at them at once.
MANY = 512
QUIET_SECONDS = 60.0
# Nobody counts any more if nothing was counted for so long after it was due.
OVERDUE_SECONDS = 10.0


async def in_slices(steps: Iterable[None]) -> None:
    """Do something that yields where it may be left for a while, letting others have the loop now and then."""
    ends = time.perf_counter() + AT_A_TIME
    for _ in steps:
        if time.perf_counter() >= ends:
            await asyncio.sleep(0)
            ends = time.perf_counter() + AT_A_TIME


def _nothing() -> None:
    pass


class UpdateQueue:
    """One worker's. Things come from any thread, and are counted in one loop."""

    def __init__(self, store: MetricStore, *, every: float, most: int) -> None:
        self._store, self._every, self._most = store, every, most
        self._waiting: deque[tuple[BoundPlan | Child, Any]] = deque()
        self._round: Iterator[None] | None = None
        self._rounds = 0
        """How many were brought to their end."""
        self._left = 0
        """How many of the batch are to be counted yet."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = -math.inf
        """When it is gone on with; long ago if nobody does."""
        self._going = threading.Lock()
        self._quiet_until = -math.inf
        self.dropped: Counter[str] = Counter()
        """What was not counted, and why."""
        self.busy = 0.0
        """Seconds that counting took."""
        self.begins: Callable[[], None] = _nothing
        """What is to be done before anything is counted."""
        self.flushed: Callable[[], Iterable[None]] = tuple
        """What is to be done, as little at a time, when all that waited has been counted."""
        store.defer, store.is_waiting = self.later, self._is_waiting

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting) + self._left

    def take(self, bound_plan: BoundPlan, numbers: Any) -> None:
        """Take in what is to be done with a bundle of series."""
        if len(self._waiting) >= self._most:
            self.dropped["full"] += 1
            return
        self._waiting.append((bound_plan, numbers))
        self._wake()

    def later(self, child: Child, value: float | None) -> bool:
        """Let a series be so much, or gone, when what came before has been done; return whether it waits."""
        if not self._is_waiting() or len(self._waiting) >= self._most:
            return False
        self._waiting.append((child, value))
        return True

    def flush(self) -> None:
        """Count all that waits, at once."""
        self._go_round(lambda: False)
        while self._waiting:
            self._go_round(lambda: False)

    async def drain(self) -> None:
        """Count all that waits now, and do what is to be done then, letting others have the loop."""
        # Of what waits now, some may have come when the round that is under way had begun.
        until = self._rounds + (1 if self._round is None else 2)
        while self._rounds < until:
            self._count_a_little()
            await asyncio.sleep(0)

    def _is_waiting(self) -> bool:
        return self.waiting > 0

    def _count_a_little(self) -> None:
        ends = time.perf_counter() + AT_A_TIME * (1 + len(self._waiting) / MUCH)
        self._go_round(lambda: time.perf_counter() >= ends)

    def _go_round(self, is_enough: Callable[[], bool]) -> None:
        """Go on with the round that is under way, or with a new one, to its end if nothing is enough before."""
        began = time.perf_counter()
        # Of several loops, one at a time; no other waits for it.
        if not self._going.acquire(blocking=False):
            return
        try:
            self._round = self._round or self._all()
            while next(self._round, self) is not self:
                if is_enough():
                    break
            else:
                self._round = None
                self._rounds += 1
        finally:
            self._going.release()
        self.busy += time.perf_counter() - began

    def _all(self) -> Iterator[None]:
        """Count all that waits when it begins; yields where it may be left for a while."""
        try:
            self.begins()
        except Exception as error:  # noqa: BLE001 - whatever it is, events are counted
            self._complain("series could not be made ready", error)
        left = len(self._waiting)
        while left > 0 and self._waiting:
            left -= min(len(self._waiting), BATCH)
            yield from self._counting()
        try:
            yield from self.flushed()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next events are counted
            self._complain("what events tell could not be looked up", error)

    def _counting(self) -> Iterator[None]:
        """Count a batch; yields where it may be left for a while."""
        several: dict[BoundPlan, list[Any]] = {}
        latest: dict[BoundPlan, int] = {}
        self._left = min(len(self._waiting), BATCH)
        for number in range(self._left):
            one, told = self._waiting.popleft()
            if isinstance(one, BoundPlan):
                several.setdefault(one, []).append(told)
                latest[one] = number
                continue
            yield from self._applying(several, latest)
            with self._store.lock:
                one.put(told, time.time())
            self._left -= 1
        yield from self._applying(several, latest)

    def _applying(self, several: dict[BoundPlan, list[Any]], latest: dict[BoundPlan, int]) -> Iterator[None]:
        if self._store.is_limited:
            # Series that went since they were looked up get their places anew, in the order of the events.
            with self._store.lock, suppress(OSError):
                for bound_plan in several:
                    bound_plan.prepare()
        # What several of them set is as the latest says.
        for bound_plan in sorted(several, key=latest.__getitem__):
            try:
                with self._store.lock:
                    bound_plan.apply(several[bound_plan], time.time())
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are counted
                self.dropped["error"] += len(several[bound_plan])
                self._complain("events could not be counted", error)
            self._left -= len(several[bound_plan])
            yield
        several.clear()

    def _complain(self, what: str, error: Exception) -> None:
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            LOG.warning("evenkeel: %s (%s).", what, type(error).__name__)

    def _wake(self) -> None:
        """See to it that somebody counts."""
        now, are_many = time.monotonic(), len(self._waiting) >= MANY
        # A loop that is no more does nothing of what it was asked for.
        is_overdue = now >= self._due + OVERDUE_SECONDS
        if not is_overdue and not (are_many and self._due > now + BETWEEN):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if is_overdue and loop is not None:
            self._loop = loop
        if self._loop is None or self._loop.is_closed():
            return
        wait = 0.0 if are_many else self._every
        self._due = now + wait
        if loop is self._loop:
            loop.call_later(wait, self._go_on)
        else:
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        self._count_a_little()
        if (self._round is not None or self._waiting) and self._loop is not None:
            self._due = time.monotonic() + BETWEEN
            # Not at once: a request goes through the loop many times, and would find a part of this each time.
            self._loop.call_later(BETWEEN, self._go_on)
        else:
            self._due = -math.inf
