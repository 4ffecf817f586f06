"""Interface of a record store, and what the stores in SQL databases share. Use a store from one thread at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from litellm_evenkeel.journal.record import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.operator_actions import OperatorAction

COLUMN_NAMES = ", ".join(COLUMNS)


class RecordsRejected(Exception):
    """Permanent error: the store cannot hold at least one of the records."""


class JournalMissing(Exception):
    """Error for a store that contains no journal to read, or something else where a journal should be written."""


class WriterRange(NamedTuple):
    """Range of a writer's records in a store."""

    first: int
    last: int
    records: int

    @property
    def gaps(self) -> int:
        """Number of records that are missing between the first and the last."""
        return self.last - self.first + 1 - self.records


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

    @property
    def log_bytes(self) -> int | None:
        """Size of the write-ahead log, if the store is a file."""

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Write all records and the cursor, or nothing. Return the number of records that were new."""

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` records older than `before`, in microseconds since 1970. Return their number."""

    def writers(self) -> Mapping[int, WriterRange]:
        """Return the range of each writer's records. This reads all records."""

    def latest(self) -> Mapping[int, int]:
        """Return the last number of each writer. The cost does not depend on the number of records."""

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of a writer, numbered above `after` and up to `last`, in order."""

    def page(self, after: PageCursor, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of all writers after a cursor, the oldest first."""

    def newest(self, limit: int) -> list[RequestRecord]:
        """Return the `limit` newest records of all writers, the oldest first."""

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return, for each writer, the number of the last record that was copied from the store `source`."""

    def actions(self, limit: int) -> list[OperatorAction]:
        """Return the `limit` newest actions of operators, the oldest first."""

    def close(self) -> None:
        """Close the store. The next call opens it again."""


class Statements:
    """SQL statements on `table`, with parameters `{mark}1`, `{mark}2` and so on."""

    def __init__(self, table: str, mark: str) -> None:
        select, order = f"SELECT {COLUMN_NAMES} FROM {table}", "time {0}, writer {0}, number {0}"
        self.read = f"""
{select} WHERE writer = {mark}1 AND number > {mark}2 AND number <= {mark}3 ORDER BY number LIMIT {mark}4
"""
        self.page = f"""
{select} WHERE (time, writer, number) > ({mark}1, {mark}2, {mark}3) ORDER BY {order.format("ASC")} LIMIT {mark}4
"""
        self.newest = f"{select} ORDER BY {order.format('DESC')} LIMIT {mark}1"
        self.writers = f"SELECT writer, min(number), max(number), count(*) FROM {table} GROUP BY writer"
        # It steps from writer to writer in the primary key. A GROUP BY would read all records.
        self.latest = f"""
WITH RECURSIVE known (writer) AS (
    SELECT min(writer) FROM {table}
    UNION ALL
    SELECT (SELECT min(later.writer) FROM {table} AS later WHERE later.writer > known.writer)
    FROM known WHERE known.writer IS NOT NULL
)
SELECT known.writer, (SELECT max(own.number) FROM {table} AS own WHERE own.writer = known.writer)
FROM known WHERE known.writer IS NOT NULL
"""
        self.save_position = f"""
INSERT INTO {table}_moved VALUES ({mark}1, {mark}2, {mark}3)
ON CONFLICT (source, writer) DO UPDATE SET number = excluded.number
"""
        self.backfill_positions = f"SELECT writer, number FROM {table}_moved WHERE source = {mark}1"


class SqlStore(ABC):
    """The queries of a `RecordStore` in an SQL database."""

    statements: ClassVar[Statements]

    def writers(self) -> Mapping[int, WriterRange]:
        """Return the range of each writer's records. This reads all records."""
        return {writer: WriterRange(*numbers) for writer, *numbers in self._fetch(self.statements.writers)}

    def latest(self) -> Mapping[int, int]:
        """Return the last number of each writer. The cost does not depend on the number of records."""
        return dict(self._fetch(self.statements.latest))

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of a writer, numbered above `after` and up to `last`, in order."""
        return list(map(self._record, self._fetch(self.statements.read, writer, after, last, limit)))

    def page(self, after: PageCursor, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of all writers after a cursor, the oldest first."""
        parameters = (self._time(after.time), after.writer, after.number, limit)
        return list(map(self._record, self._fetch(self.statements.page, *parameters)))

    def newest(self, limit: int) -> list[RequestRecord]:
        """Return the `limit` newest records of all writers, the oldest first."""
        return list(map(self._record, self._fetch(self.statements.newest, limit)))[::-1]

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return, for each writer, the number of the last record that was copied from the store `source`."""
        return dict(self._fetch(self.statements.backfill_positions, source))

    @abstractmethod
    def _fetch(self, statement: str, *parameters: object) -> Sequence[Any]:
        """Execute a query and return its rows."""

    @staticmethod
    @abstractmethod
    def _record(row: Sequence[Any]) -> RequestRecord:
        """Return the record of a row."""

    def _time(self, microseconds: int) -> object:
        """Return a record's time as the database stores it."""
        return microseconds
