from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.journal.record import RequestRecord
from litellm_evenkeel.journal.store import BackfillCursor, PageCursor, WriterRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATIENCE_SECONDS = 10.0


def _made(number: int, writer: int = 1, **told: Any) -> RequestRecord:
    """Return a row."""
    usual = RequestRecord(
        writer=writer,
        number=number,
        time=1_700_000_000_000_000 + number,
        key="k" * 64,
        account="acme",
        model="gpt-4o",
        deployment="d-1",
        status=200,
        error="",
        latency=0.25,
        first_token=None,
        prompt_tokens=10,
        output_tokens=5,
        cost=0.001,
        retries=0,
        reason="strategy",
        is_stream=False,
        is_cached=False,
    )
    return usual._replace(**told)


class Shelf:
    """A store in memory that can be made to fail."""

    name = "shelf"
    log_bytes: int | None = None

    def __init__(self) -> None:
        self.locked = 0
        self.records: dict[tuple[int, int], RequestRecord] = {}
        self.batches: list[int] = []
        self.fails: Callable[[Sequence[RequestRecord]], Exception | None] = lambda _: None
        self.open = threading.Event()
        self.open.set()
        self.is_closed = False
        self.marks: dict[tuple[str, int], int] = {}

    def write(self, records: Sequence[RequestRecord], moved: BackfillCursor | None = None) -> int:
        assert self.open.wait(PATIENCE_SECONDS)
        error = self.fails(records)
        if error is not None:
            raise error
        before = len(self.records)
        self.records |= {
            (record.writer, record.number): record
            for record in records
            if (record.writer, record.number) not in self.records
        }
        self.batches.append(len(records))
        if moved is not None:
            self.marks[moved.source, moved.writer] = moved.number
        return len(self.records) - before

    def prune(self, before: int, most: int) -> int:
        old = [known for known, record in self.records.items() if record.time < before][:most]
        for known in old:
            del self.records[known]
        return len(old)

    def writers(self) -> dict[int, WriterRange]:
        found = {}
        for writer, several in itertools.groupby(sorted(self.records), key=lambda known: known[0]):
            numbers = [number for _, number in several]
            found[writer] = WriterRange(numbers[0], numbers[-1], len(numbers))
        return found

    def latest(self) -> dict[int, int]:
        return {writer: span.last for writer, span in self.writers().items()}

    def read(self, writer: int, after: int, upto: int, most: int) -> list[RequestRecord]:
        return [
            record for (who, number), record in sorted(self.records.items()) if who == writer and after < number <= upto
        ][:most]

    def page(self, after: PageCursor, most: int) -> list[RequestRecord]:
        ordered = sorted(self.records.values(), key=lambda row: (row.time, row.writer, row.number))
        return [record for record in ordered if (record.time, record.writer, record.number) > after][:most]

    def newest(self, most: int) -> list[RequestRecord]:
        return self.page(PageCursor(-1), len(self.records))[-most:]

    def backfill_positions(self, source: str) -> dict[int, int]:
        return {writer: number for (name, writer), number in self.marks.items() if name == source}

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture(scope="session")
def new_shelf() -> type[Shelf]:
    return Shelf


@pytest.fixture(scope="session")
def made() -> Callable[..., RequestRecord]:
    return _made


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    def wait(holds: Callable[[], object]) -> None:
        gives_up = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < gives_up
            time.sleep(0.002)

    return wait
