"""All rows of a journal, some at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.row import Row
    from litellm_evenkeel.journal.store import Store

AT_ONCE = 5000


def pages(store: Store, since: int = 0, at_once: int = AT_ONCE) -> Iterator[list[Row]]:
    """Yield them from a moment on, in microseconds since 1970, the oldest first."""
    after = Place(since - 1)
    while rows := store.page(after, at_once):
        yield rows
        last = rows[-1]
        after = Place(last.time, last.writer, last.number)
