"""Queries of a journal: all records in pages, the records since the last query, and the fields to group them by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import PageCursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import RecordStore

GROUPS = ("account", "model", "deployment", "key", "status", "error", "reason")
FIRST_FAILURE = 400
"""The lowest status of a failed request."""
PAGE_RECORDS, NEW_RECORDS = 5000, 1000


def pages(store: RecordStore, since: int = 0) -> Iterator[list[RequestRecord]]:
    """Yield all records since a time in microseconds since 1970, the oldest first."""
    after = PageCursor(since - 1)
    while records := store.page(after, PAGE_RECORDS):
        yield records
        last = records[-1]
        after = PageCursor(last.time, last.writer, last.number)


def new_records(store: RecordStore, seen: dict[int, int]) -> Iterator[RequestRecord]:
    """Yield the records written since the last call, and update `seen`, the last number of each writer.

    A record is written when its request ends, so its time does not tell whether it is new.
    """
    for writer, last in store.latest().items():
        while seen.get(writer, 0) < last and (records := store.read(writer, seen.get(writer, 0), last, NEW_RECORDS)):
            seen[writer] = records[-1].number
            yield from records
