"""What keeps rows, as a writer and those who read see it. One thread at a time uses a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litellm_evenkeel.journal.record import RequestRecord


def latest_query(table: str) -> str:
    """Return it as SQLite and Postgres understand it."""
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
    """A store cannot keep one of these rows, however often it is tried."""


class JournalMissing(Exception):
    """There is none where one was to be read, or something else where one was to be written."""


class WriterRange(NamedTuple):
    """What there is of a writer."""

    first: int
    last: int
    rows: int

    @property
    def gaps(self) -> int:
        """How many rows are missing between the first and the last."""
        return self.last - self.first + 1 - self.rows


class PageCursor(NamedTuple):
    """Where a row stands in the order of times."""

    time: int
    writer: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class BackfillCursor:
    """Up to which of a writer's rows all that another store holds has been moved here."""

    source: str
    """Which store that is."""
    writer: int
    number: int


class RecordStore(Protocol):
    """Rows, each known by its writer and number. What goes wrong is raised as the driver raises it."""

    name: str
    """What it is called in metrics and messages; no address."""
    locked: int
    """Writes that found a file locked by another process, and waited for that."""

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Keep rows, all or none of them, and return how many of them were new."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete some rows that are older than that, in microseconds since 1970; return how many."""
        ...

    def writers(self) -> Mapping[int, WriterRange]:
        """Return whose rows there are, and which; all of them are looked at."""
        ...

    def latest(self) -> Mapping[int, int]:
        """Return up to which number there are rows of each writer, at no more cost where there are many rows."""
        ...

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Return some of a writer's rows beyond a number, in the order of their numbers."""
        ...

    def page(self, after: PageCursor, limit: int) -> list[RequestRecord]:
        """Return some rows of all writers beyond a place, the oldest first."""
        ...

    def newest(self, limit: int) -> list[RequestRecord]:
        """Return the newest rows of all writers, the oldest of them first."""
        ...

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return up to which of each writer's rows all has been moved here from another store."""
        ...

    def close(self) -> None:
        """Let go of it; the next call opens it anew."""
        ...
