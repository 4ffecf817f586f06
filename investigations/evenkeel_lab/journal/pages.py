"""All rows of a journal, some at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import PageCursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import RecordStore

AT_ONCE = 5000


def pages(store: RecordStore, since: int = 0, at_once: int = AT_ONCE) -> Iterator[list[RequestRecord]]:
    """Yield them from a moment on, in microseconds since 1970, the oldest first."""
    after = PageCursor(since - 1)
    while records := store.page(after, at_once):
        yield records
        last = records[-1]
        after = PageCursor(last.time, last.writer, last.number)
