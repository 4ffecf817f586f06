"""Interface of a record store. Use a store from one thread at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litellm_evenkeel.journal.record import RequestRecord


def latest_query(table: str) -> str:
    """Return a query for the last number of each writer, for SQLite and Postgres.

    It steps from writer to writer in the primary key. A GROUP BY would read all records.
    """
    return f"""
WITH RECURSIVE known (writer) AS (
    SELECT min(writer) FROM {table}
    UNION ALL
    SELECT (SELECT min(later.writer) FROM {table} AS later WHERE later.writer > known.writer)
    FROM known WHERE known.writer IS NOT NULL
)
SELECT known.writer, (SELECT max(own.number) FROM {table} AS own WHERE own.writer = known.writer)
FROM known WHERE known.writer IS NOT NULL
"""


class RecordsRejected(Exception):
    """Permanent error: the store cannot hold at least one of the records."""


class JournalMissing(Exception):
    """Error for a store that contains no journal to read, or something else where a journal should be written."""


class WriterRange(NamedTuple):
    """Range of a writer's records in a store."""

    first: int
    last: int
    rows: int

    @property
    def gaps(self) -> int:
        """Number of records that are missing between the first and the last."""
        return self.last - self.first + 1 - self.rows


class PageCursor(NamedTuple):
    """Position of a record in the order of time, writer and number."""

    time: int
    writer: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class BackfillCursor:
    """Position of a back-fill in the records of one writer."""

    source: str
    """Name of the store from which the records are copied."""
    writer: int
    number: int
    """Number of the last copied record."""


class RecordStore(Protocol):
    """Store of records, identified by writer and number. Its methods raise the driver's own errors."""

    name: str
    """Name of the store in metrics and messages; never an address."""
    locked: int
    """Writes that had to wait because another process had locked the file."""

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Write all records and the cursor, or nothing. Return the number of records that were new."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` records older than `before`, in microseconds since 1970. Return their number."""
        ...

    def writers(self) -> Mapping[int, WriterRange]:
        """Return the range of each writer's records. This reads all records."""
        ...

    def latest(self) -> Mapping[int, int]:
        """Return the last number of each writer. The cost does not depend on the number of records."""
        ...

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of a writer, numbered above `after` and up to `last`, in order."""
        ...

    def page(self, after: PageCursor, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of all writers after a cursor, the oldest first."""
        ...

    def newest(self, limit: int) -> list[RequestRecord]:
        """Return the `limit` newest records of all writers, the oldest first."""
        ...

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return, for each writer, the number of the last record that was copied from the store `source`."""
        ...

    def close(self) -> None:
        """Close the store. The next call opens it again."""
        ...
