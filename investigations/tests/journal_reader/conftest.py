"""Stores that count how often rows were read from them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from litellm_evenkeel.journal.record import RequestRecord


class Counting(SqliteStore):
    """A file of SQLite, and how often it was read."""

    reads = 0

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Count it."""
        self.reads += 1
        return super().read(writer, after, last, limit)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Counting, Counting]]:
    with ExitStack() as stack:
        yield (
            stack.enter_context(closing(Counting(tmp_path / "a.db"))),
            stack.enter_context(closing(Counting(tmp_path / "b.db"))),
        )


@pytest.fixture
def store(two: tuple[Counting, Counting]) -> Counting:
    return two[0]
