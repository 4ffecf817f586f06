"""Journal of a worker: numbers the records and hands them to one store, or to two during a migration."""

from __future__ import annotations

import secrets
import time
from collections import deque
from itertools import count
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.writer import RecordWriter, WriterCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.settings import JournalSettings
    from litellm_evenkeel.journal.store import RecordStore

WRITER_ID_BITS = 62
MAX_RECENT = 20


class Journal:
    """Queue of one worker's records in front of one or two stores.

    The second store has a thread of its own, so that its failures do not affect the first. It gets each batch after the
    first store has written it. A back-fill adds the records that it still lacks.
    """

    def __init__(
        self, first: RecordStore, second: RecordStore | None, settings: JournalSettings, *, writer: int | None = None
    ) -> None:
        self.writer = secrets.randbits(WRITER_ID_BITS) if writer is None else writer
        """Id of this worker in its records."""
        self._numbers, self._drain = count(1), settings.drain_timeout
        self.recent: deque[RequestRecord] = deque(maxlen=MAX_RECENT)
        """The last records of this worker, the oldest first."""
        self._second = None if second is None else RecordWriter(second, settings)
        self._first = RecordWriter(first, settings, on_written=None if self._second is None else self._forward)

    def append(self, record: RequestRecord) -> None:
        """Queue a record under this worker's next number, without waiting."""
        record = record._replace(writer=self.writer, number=next(self._numbers))
        self.recent.append(record)
        self._first.enqueue(record)

    def counts(self) -> tuple[WriterCounts, ...]:
        """Return the counters of each store."""
        return tuple(writer.counts() for writer in (self._first, self._second) if writer is not None)

    @property
    def has_second_store(self) -> bool:
        """Whether records go to two stores."""
        return self._second is not None

    @property
    def mismatches(self) -> int:
        """Upper bound of this worker's records that only one of two stores has or will have."""
        return 0 if self._second is None else self._second.counts().dropped

    def close(self) -> None:
        """Write the waiting records and stop. Both stores share one deadline, `drain_timeout`."""
        until = time.monotonic() + self._drain
        if self._second is not None:
            # The second store must still accept the last batches of the first.
            self._second.flush_until(until)
        for writer in (self._first, self._second):
            if writer is not None:
                writer.close(until)

    def _forward(self, records: Sequence[RequestRecord]) -> None:
        assert self._second is not None
        for record in records:
            self._second.enqueue(record)
