"""A worker's journal: numbers what it is told, and has it written to one store, or to two while rows move."""

from __future__ import annotations

import secrets
import time
from itertools import count
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.settings import WriteOrder
from litellm_evenkeel.journal.writer import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.settings import JournalSettings
    from litellm_evenkeel.journal.stats import WriterCounts
    from litellm_evenkeel.journal.store import RecordStore

WRITER_ID_BITS = 62


class Journal:
    """Rows of one worker, on their way.

    A second store is written by a thread of its own, so that nothing that goes wrong there keeps anything from the
    first: in parallel it is offered each row at once, in sequence each batch that the first has kept. What it lacks in
    the end, a back-fill brings there.
    """

    def __init__(
        self, first: RecordStore, second: RecordStore | None, settings: JournalSettings, *, writer: int | None = None
    ) -> None:
        self.writer = secrets.randbits(WRITER_ID_BITS) if writer is None else writer
        """By what this worker's rows are known."""
        self._numbers, self._drain = count(1), settings.drain
        self._second = None if second is None else RecordWriter(second, settings)
        is_after = self._second is not None and settings.order is WriteOrder.SEQUENTIAL
        self._first = RecordWriter(first, settings, on_written=self._forward if is_after else None)
        self._parallel = None if is_after else self._second

    def append(self, record: RequestRecord) -> None:
        """Have a row written some time soon, as the next of this worker's."""
        record = record._replace(writer=self.writer, number=next(self._numbers))
        self._first.enqueue(record)
        if self._parallel is not None:
            self._parallel.enqueue(record)

    def counts(self) -> tuple[WriterCounts, ...]:
        """Return how it goes with each store."""
        return tuple(one.counts() for one in (self._first, self._second) if one is not None)

    @property
    def has_second_store(self) -> bool:
        """Whether there are two stores."""
        return self._second is not None

    @property
    def mismatches(self) -> int:
        """How many rows at most only one of two stores has, or will have, as far as this worker knows."""
        if self._second is None:
            return 0
        first, second = self.counts()
        if self._parallel is None:
            return second.dropped
        return first.dropped + second.dropped

    def close(self) -> None:
        """Write what waits, as far as there is time: for both stores it is the same."""
        until = time.monotonic() + self._drain
        if self._second is not None:
            # One that comes after the first still has to hear from that.
            (self._second.flush_until if self._parallel is None else self._second.begin_shutdown)(until)
        for one in (self._first, self._second):
            if one is not None:
                one.close(until)

    def _forward(self, records: Sequence[RequestRecord]) -> None:
        assert self._second is not None
        for record in records:
            self._second.enqueue(record)
