"""Queue of metric updates, which are applied in batches, in order of arrival, in short slices of event loop time."""

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
from litellm_evenkeel.support.log_throttle import LogThrottle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from litellm_evenkeel.metrics.registry.families import MetricStore
    from litellm_evenkeel.metrics.registry.series import Series

LOG = logging.getLogger("litellm_evenkeel.metrics")
# A batch groups updates by plan, because most of them share a few plans.
BATCH_SIZE = 128
# The queue uses the event loop for a slice, then leaves it to others for a pause. A slice grows with the queue: it is
# twice as long with `SLICE_GROWTH_UPDATES` waiting updates, three times as long with twice as many.
SLICE_SECONDS, PAUSE_SECONDS, SLICE_GROWTH_UPDATES = 0.0005, 0.002, 1_000
# From this queue length on, updates are applied at once, without waiting for the flush interval.
EARLY_FLUSH_UPDATES = 512
QUIET_SECONDS = 60.0
# If no slice ran for this long after it was due, its event loop is presumed closed.
OVERDUE_SECONDS = 10.0


async def in_slices(steps: Iterable[None]) -> None:
    """Run `steps`, which yields where it may be interrupted, and leave the event loop to others after each slice."""
    ends = time.perf_counter() + SLICE_SECONDS
    for _ in steps:
        if time.perf_counter() >= ends:
            await asyncio.sleep(0)
            ends = time.perf_counter() + SLICE_SECONDS


class UpdateQueue:
    """Queue of one worker. Updates may come from any thread, and are applied in one event loop.

    A round applies all updates that wait when it begins. It may take several slices.
    """

    def __init__(self, store: MetricStore, *, flush_seconds: float, max_waiting: int) -> None:
        self._store, self._flush_seconds, self._max_waiting = store, flush_seconds, max_waiting
        self._waiting: deque[tuple[BoundPlan | Series, Any]] = deque()
        self._round: Iterator[None] | None = None
        self._finished_rounds = 0
        self._batch_waiting = 0
        """Number of updates of the current batch that are not applied yet."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due_at = -math.inf
        """Monotonic time of the next slice; `-inf` if none is scheduled."""
        self._round_lock = threading.Lock()
        self._throttle = LogThrottle(QUIET_SECONDS)
        self.dropped: Counter[str] = Counter()
        """Number of updates that were not applied, by reason."""
        self.busy_seconds = 0.0
        """Total time spent applying updates."""
        self.before_round: Callable[[], None] = lambda: None
        """Hook that runs before a round applies its first update."""
        self.after_round: Callable[[], Iterable[None]] = tuple
        """Hook that runs after a round's last update, and yields where it may be interrupted."""
        store.defer, store.has_waiting_updates = self.defer, lambda: self.waiting > 0

    @property
    def waiting(self) -> int:
        """Number of updates that are not applied yet."""
        return len(self._waiting) + self._batch_waiting

    def take(self, bound_plan: BoundPlan, numbers: Any) -> None:
        """Queue the updates of an event, given its plan and its numbers."""
        if len(self._waiting) >= self._max_waiting:
            self.dropped["queue_full"] += 1
            return
        self._waiting.append((bound_plan, numbers))
        self._schedule()

    def defer(self, series: Series, value: float | None) -> bool:
        """Queue a series' new value, or its removal if `value` is `None`, behind all waiting updates.

        Return `False` if the caller has to apply it itself, because nothing waits or the queue is full.
        """
        if not self.waiting or len(self._waiting) >= self._max_waiting:
            return False
        self._waiting.append((series, value))
        return True

    def flush(self) -> None:
        """Apply all waiting updates at once, without leaving the event loop."""
        self._advance(lambda: False)
        while self._waiting:
            self._advance(lambda: False)

    async def drain(self) -> None:
        """Apply all updates that wait now and run the hook after them, in slices."""
        # If a round is running, some of these updates may have arrived after it began, and need another round.
        target = self._finished_rounds + (1 if self._round is None else 2)
        while self._finished_rounds < target:
            self._run_slice()
            await asyncio.sleep(0)

    def _run_slice(self) -> None:
        ends = time.perf_counter() + SLICE_SECONDS * (1 + len(self._waiting) / SLICE_GROWTH_UPDATES)
        self._advance(lambda: time.perf_counter() >= ends)

    def _advance(self, should_stop: Callable[[], bool]) -> None:
        """Continue the current round, or begin a new one, until it is finished or `should_stop` returns true."""
        began = time.perf_counter()
        # Several event loops may get here, and only one may advance the round. The others do not wait for it.
        if not self._round_lock.acquire(blocking=False):
            return
        try:
            self._round = self._round or self._new_round()
            while next(self._round, self) is not self:
                if should_stop():
                    break
            else:
                self._round = None
                self._finished_rounds += 1
        finally:
            self._round_lock.release()
        self.busy_seconds += time.perf_counter() - began

    def _new_round(self) -> Iterator[None]:
        """Apply all updates that wait when the round begins; yield where it may be interrupted."""
        try:
            self.before_round()
        except Exception as error:  # noqa: BLE001 - an error in the hook must not stop the queue
            self._warn("idle series could not be removed; the next round tries again", error)
        remaining = len(self._waiting)
        while remaining > 0 and self._waiting:
            remaining -= min(len(self._waiting), BATCH_SIZE)
            yield from self._apply_batch()
        try:
            yield from self.after_round()
        except Exception as error:  # noqa: BLE001 - an error in the hook must not stop the queue
            self._warn("budgets or remaining limits could not be looked up; their gauges are out of date", error)

    def _apply_batch(self) -> Iterator[None]:
        """Apply one batch; yield where it may be interrupted."""
        numbers_by_plan: dict[BoundPlan, list[Any]] = {}
        last_index: dict[BoundPlan, int] = {}
        self._batch_waiting = min(len(self._waiting), BATCH_SIZE)
        for index in range(self._batch_waiting):
            target, value = self._waiting.popleft()
            if isinstance(target, BoundPlan):
                numbers_by_plan.setdefault(target, []).append(value)
                last_index[target] = index
                continue
            yield from self._apply_plans(numbers_by_plan, last_index)
            with self._store.lock:
                target.put(value, time.time())
            self._batch_waiting -= 1
        yield from self._apply_plans(numbers_by_plan, last_index)

    def _apply_plans(
        self, numbers_by_plan: dict[BoundPlan, list[Any]], last_index: dict[BoundPlan, int]
    ) -> Iterator[None]:
        if self._store.is_limited:
            # Series that were removed since they were looked up are admitted again, in the order of the events.
            with self._store.lock, suppress(OSError):
                for bound_plan in numbers_by_plan:
                    bound_plan.prepare()
        # Plans are ordered by their last event, so that a gauge that several of them set has the latest value.
        for bound_plan in sorted(numbers_by_plan, key=last_index.__getitem__):
            try:
                with self._store.lock:
                    bound_plan.apply(numbers_by_plan[bound_plan], time.time())
            except Exception as error:  # noqa: BLE001 - an error in one plan must not stop the others
                self.dropped["error"] += len(numbers_by_plan[bound_plan])
                self._warn("events could not be counted, and are dropped", error)
            self._batch_waiting -= len(numbers_by_plan[bound_plan])
            yield
        numbers_by_plan.clear()

    def _warn(self, message: str, error: Exception) -> None:
        if self._throttle.allows(time.monotonic()):
            LOG.warning("evenkeel: %s (%s).", message, type(error).__name__)

    def _schedule(self) -> None:
        """Schedule a slice, unless one is scheduled that is early enough."""
        now, is_early = time.monotonic(), len(self._waiting) >= EARLY_FLUSH_UPDATES
        # A loop that was closed never runs its scheduled calls, so another loop has to take over.
        is_overdue = now >= self._due_at + OVERDUE_SECONDS
        if not is_overdue and not (is_early and self._due_at > now + PAUSE_SECONDS):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if is_overdue and loop is not None:
            self._loop = loop
        if self._loop is None or self._loop.is_closed():
            return
        delay = 0.0 if is_early else self._flush_seconds
        self._due_at = now + delay
        if loop is self._loop:
            loop.call_later(delay, self._run)
        else:
            self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        self._run_slice()
        if (self._round is not None or self._waiting) and self._loop is not None:
            self._due_at = time.monotonic() + PAUSE_SECONDS
            # Not at once: a request passes through the loop many times, and a slice would delay each of them.
            self._loop.call_later(PAUSE_SECONDS, self._run)
        else:
            self._due_at = -math.inf
