"""What has come to a journal since it was last looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import RecordStore

AT_ONCE = 1000


def new(store: RecordStore, seen: dict[int, int]) -> Iterator[RequestRecord]:
    """Yield it, and remember in `seen` up to which number; a writer of whom there is nothing new is not read.

    A row is written when its request has ended, so its time says nothing of that.
    """
    for writer, last in store.latest().items():
        while seen.get(writer, 0) < last and (records := store.read(writer, seen.get(writer, 0), last, AT_ONCE)):
            seen[writer] = records[-1].number
            yield from records
