from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.journal.row import Row
from litellm_evenkeel.journal.store import Moved, Place, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATIENCE_SECONDS = 10.0


def _made(number: int, writer: int = 1, **told: Any) -> Row:
    """Return a row."""
    usual = Row(
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
    """A store in memory, which fails as it is told to."""

    name = "shelf"

    def __init__(self) -> None:
        self.locked = 0
        self.rows: dict[tuple[int, int], Row] = {}
        self.batches: list[int] = []
        self.fails: Callable[[Sequence[Row]], Exception | None] = lambda _: None
        self.open = threading.Event()
        self.open.set()
        self.is_closed = False
        self.marks: dict[tuple[str, int], int] = {}

    def write(self, rows: Sequence[Row], moved: Moved | None = None) -> int:
        assert self.open.wait(PATIENCE_SECONDS)
        error = self.fails(rows)
        if error is not None:
            raise error
        before = len(self.rows)
        self.rows |= {(row.writer, row.number): row for row in rows if (row.writer, row.number) not in self.rows}
        self.batches.append(len(rows))
        if moved is not None:
            self.marks[moved.source, moved.writer] = moved.number
        return len(self.rows) - before

    def prune(self, before: int, most: int) -> int:
        old = [known for known, row in self.rows.items() if row.time < before][:most]
        for known in old:
            del self.rows[known]
        return len(old)

    def writers(self) -> dict[int, Span]:
        found = {}
        for writer, several in itertools.groupby(sorted(self.rows), key=lambda known: known[0]):
            numbers = [number for _, number in several]
            found[writer] = Span(numbers[0], numbers[-1], len(numbers))
        return found

    def latest(self) -> dict[int, int]:
        return {writer: span.last for writer, span in self.writers().items()}

    def read(self, writer: int, after: int, upto: int, most: int) -> list[Row]:
        return [row for (who, number), row in sorted(self.rows.items()) if who == writer and after < number <= upto][
            :most
        ]

    def page(self, after: Place, most: int) -> list[Row]:
        ordered = sorted(self.rows.values(), key=lambda row: (row.time, row.writer, row.number))
        return [row for row in ordered if (row.time, row.writer, row.number) > after][:most]

    def newest(self, most: int) -> list[Row]:
        return self.page(Place(-1), len(self.rows))[-most:]

    def moved(self, source: str) -> dict[int, int]:
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
def made() -> Callable[..., Row]:
    return _made


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    def wait(holds: Callable[[], object]) -> None:
        gives_up = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < gives_up
            time.sleep(0.002)

    return wait
