"""Stores that count their reads."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from litellm_evenkeel.journal.record import RequestRecord


class CountingStore(SqliteStore):
    """A SQLite store that counts calls of `read`."""

    reads = 0

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        self.reads += 1
        return super().read(writer, after, last, limit)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[CountingStore, CountingStore]]:
    with ExitStack() as stack:
        yield (
            stack.enter_context(closing(CountingStore(tmp_path / "a.db"))),
            stack.enter_context(closing(CountingStore(tmp_path / "b.db"))),
        )


@pytest.fixture
def store(stores: tuple[CountingStore, CountingStore]) -> CountingStore:
    return stores[0]
