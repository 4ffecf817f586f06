"""Background writer of records: one thread for each store, so that no request waits for a store.

A record waits up to `flush_interval` for others, so that they are written as one batch. While the store cannot be
written, batches are retried with growing pauses. Memory is bounded: beyond `queue_size`, new records are dropped and
counted.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import JournalMissing, RecordsRejected
from litellm_evenkeel.support.log_throttle import LogThrottle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.settings import JournalSettings
    from litellm_evenkeel.journal.store import RecordStore

LOG = logging.getLogger("litellm_evenkeel.journal")
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS, SHUTDOWN_RETRY_SECONDS = 0.05, 5.0, 0.2
# Minimum time between two warnings, so that an outage does not flood the log.
WARNING_INTERVAL_SECONDS = 30.0
PRUNE_INTERVAL_SECONDS, PRUNE_BATCH_RECORDS = 60.0, 5000
MICROSECONDS = 1_000_000


@dataclass(slots=True)
class WriterCounts:
    """Counters of one store's writer since the worker began. The names are those of the health document."""

    store: str
    offered: int = 0
    """Records that were queued or dropped."""
    written: int = 0
    waiting: int = 0
    """Records that are not written yet."""
    queue_full: int = 0
    """Records dropped because too many were waiting."""
    rejected: int = 0
    """Records dropped because the store cannot hold them."""
    shutdown: int = 0
    """Records dropped because the worker ended before the store could be written."""
    batches: int = 0
    failures: int = 0
    """Failed writes, which were retried."""
    locked: int = 0
    """Writes that had to wait because another process had locked the file."""
    pruned: int = 0
    """Records deleted because they were older than `retention`."""
    write_seconds: float = 0.0
    """Time that the `batches` took."""
    log_bytes: int | None = None
    """Size of the write-ahead log, if the store is a file."""
    trouble: str = ""
    """Class of the last error, or why the store is no journal; empty if there was no error since the last write."""

    @property
    def dropped(self) -> int:
        """Records that are lost."""
        return self.queue_full + self.rejected + self.shutdown


class RecordWriter:
    """Queue and thread in front of one store."""

    def __init__(
        self,
        store: RecordStore,
        settings: JournalSettings,
        *,
        clock: Callable[[], float] = time.time,
        on_written: Callable[[Sequence[RequestRecord]], None] | None = None,
    ) -> None:
        """Start the thread. `on_written` gets every batch that the store has written, in the writer's thread."""
        self._store, self._settings, self._clock, self._on_written = store, settings, clock, on_written
        self._records: deque[RequestRecord] = deque()
        self._batch: list[RequestRecord] = []
        self._has_records, self._has_full_batch = threading.Event(), threading.Event()
        self._is_shutting_down = threading.Event()
        self._is_closed = False
        self._give_up_at, self._retry_seconds, self._batch_records = math.inf, FIRST_RETRY_SECONDS, settings.batch_size
        self._offered = self._queue_full = 0
        self._counts, self._throttle = WriterCounts(store.name), LogThrottle(WARNING_INTERVAL_SECONDS)
        self._next_prune_at = self._batch_due_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"evenkeel: journal, {store.name}", daemon=True)
        self._thread.start()

    def enqueue(self, record: RequestRecord) -> None:
        """Queue a record, or drop and count it if too many are waiting. Never blocks. Call it from one thread only."""
        self._offered += 1
        waiting = len(self._records)
        if waiting >= self._settings.queue_size or self._is_closed:
            self._queue_full += 1
            return
        self._records.append(record)
        if not self._has_records.is_set():
            self._has_records.set()
        if waiting + 1 >= self._settings.batch_size and not self._has_full_batch.is_set():
            self._has_full_batch.set()

    def counts(self) -> WriterCounts:
        """Return the counters since the writer's start."""
        return replace(
            self._counts,
            offered=self._offered,
            waiting=len(self._records) + len(self._batch),
            queue_full=self._queue_full,
            locked=self._store.locked,
            log_bytes=self._store.log_bytes,
        )

    def flush_until(self, until: float) -> None:
        """Write waiting and further records without delay, and stop retrying at `until` (monotonic)."""
        if not self._is_shutting_down.is_set():
            self._give_up_at = until
            self._is_shutting_down.set()
        self._has_records.set()
        self._has_full_batch.set()

    def close(self, until: float | None = None) -> None:
        """Write the waiting records and end the thread, by default within `drain_timeout` seconds. Log lost records."""
        until = time.monotonic() + self._settings.drain_timeout if until is None else until
        self._is_closed = True
        self.flush_until(until)
        # A write may still hang in the store, and a thread cannot be stopped. So the wait is bounded.
        self._thread.join(max(until - time.monotonic(), 0.0) + SHUTDOWN_RETRY_SECONDS)
        lost = self.counts().waiting + self._counts.shutdown
        if lost:
            cause = self._counts.trouble or "it did not answer in time"
            LOG.error(
                "evenkeel: the journal in %s could not be written before the worker ended (%s): %d records are lost. "
                "Check the store, or raise evenkeel.journal.drain_timeout.",
                self._store.name,
                cause,
                lost,
            )

    def _run(self) -> None:
        while not self._is_closed or self._records or self._batch:
            self._wait()
            if self._is_due() and not self._write_batch() and not self._wait_for_retry():
                self._counts.shutdown += len(self._batch) + len(self._records)
                self._batch.clear()
                self._records.clear()
            self._prune()
        with contextlib.suppress(Exception):
            self._store.close()

    def _wait(self) -> None:
        """Wait until a batch or the next pruning is due."""
        if self._batch:
            return
        self._has_records.clear()
        if not self._records and not self._is_closed:
            self._has_records.wait(max(self._next_prune_at - time.monotonic(), 0.0) if self._may_prune() else None)
            self._batch_due_at = time.monotonic() + self._settings.flush_interval
        self._has_full_batch.clear()
        if self._records and not self._is_due():
            until = min(self._batch_due_at, self._next_prune_at) if self._may_prune() else self._batch_due_at
            self._has_full_batch.wait(max(until - time.monotonic(), 0.0))

    def _is_due(self) -> bool:
        """Return whether a batch should be written now."""
        if self._batch or len(self._records) >= self._settings.batch_size:
            return True
        return bool(self._records) and (self._is_shutting_down.is_set() or time.monotonic() >= self._batch_due_at)

    def _write_batch(self) -> bool:
        """Write a batch or a part of it. Return `False` if the store failed."""
        if not self._batch:
            self._batch = [self._records.popleft() for _ in range(min(len(self._records), self._settings.batch_size))]
            if not self._records:
                # The queue is empty, so the next batch's oldest record arrives during this write at the earliest. With
                # records left over, their age is unknown and the earlier deadline stays.
                self._batch_due_at = time.monotonic() + self._settings.flush_interval
        records = self._batch[: self._batch_records]
        began = time.monotonic()
        try:
            self._store.write(records)
        except RecordsRejected as error:
            self._counts.trouble = str(error)
            if len(records) > 1:
                # Halve the batch until the rejected record is alone, so that no other record is lost with it.
                self._batch_records = len(records) // 2
                return True
            self._counts.rejected += 1
            self._warn("the store rejects a record, which is dropped")
        except Exception as error:  # noqa: BLE001 - any error of a driver is retried
            self._record_failure(error)
            return False
        else:
            self._counts.written += len(records)
            self._counts.batches += 1
            self._counts.write_seconds += time.monotonic() - began
            self._counts.trouble, self._retry_seconds = "", FIRST_RETRY_SECONDS
            if self._on_written is not None:
                self._on_written(records)
        self._batch_records = min(2 * self._batch_records, self._settings.batch_size)
        del self._batch[: len(records)]
        return True

    def _wait_for_retry(self) -> bool:
        """Wait after a failure. Return whether to retry."""
        if self._is_shutting_down.is_set():
            time.sleep(SHUTDOWN_RETRY_SECONDS)
        else:
            self._is_shutting_down.wait(self._retry_seconds)
            self._retry_seconds = min(2 * self._retry_seconds, MAX_RETRY_SECONDS)
        return time.monotonic() < self._give_up_at

    def _may_prune(self) -> bool:
        # A worker that shuts down needs its time for the waiting records.
        return self._settings.retention > 0 and not self._is_shutting_down.is_set()

    def _prune(self) -> None:
        if not self._may_prune() or time.monotonic() < self._next_prune_at:
            return
        wait = PRUNE_INTERVAL_SECONDS
        try:
            before = int((self._clock() - self._settings.retention) * MICROSECONDS)
            pruned = self._store.prune(before, PRUNE_BATCH_RECORDS)
        except Exception as error:  # noqa: BLE001 - as above
            self._record_failure(error)
        else:
            self._counts.pruned += pruned
            if pruned == PRUNE_BATCH_RECORDS:
                wait = self._settings.flush_interval
        self._next_prune_at = time.monotonic() + wait

    def _record_failure(self, error: Exception) -> None:
        self._counts.failures += 1
        # The text of our own error says what is wrong with the file. A driver's text may contain an address, so only
        # its class or code is used.
        is_own = isinstance(error, JournalMissing)
        self._counts.trouble = str(error) if is_own else getattr(error, "sqlite_errorname", type(error).__name__)
        self._warn("the store cannot be written and is retried; requests do not wait for it")

    def _warn(self, event: str) -> None:
        if not self._throttle.allows(time.monotonic()):
            return
        LOG.warning(
            "evenkeel: journal in %s: %s (%s). %d records are waiting, %d were dropped so far.",
            self._store.name,
            event,
            self._counts.trouble,
            self.counts().waiting,
            self.counts().dropped,
        )
