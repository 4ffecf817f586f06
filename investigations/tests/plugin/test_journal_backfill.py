"""All records of a journal move from SQLite to Postgres while both are written."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.journal_reader.comparing import compare
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres
from litellm_evenkeel.journal.backfill import back_fill
from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.postgres import PostgresStore
from litellm_evenkeel.journal.settings import JournalSettings
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from litellm_evenkeel.journal.store import RecordStore

AT_ONCE = 10_000
FORMER_WORKERS = 4
RATE = 200
PAUSE_SECONDS = 2.0
SOURCE = "the file"


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with stack_folder() as folder, Postgres(folder, tmp_path) as database:
        yield database.url


class Traffic:
    """A stream of requests."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.noted = journal, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._note)
        self._thread.start()

    def _note(self) -> None:
        while not self._over.wait(1 / RATE):
            self.journal.append(row(0))
            self.noted += 1

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self.journal.close()


def moved(source: RecordStore, target: RecordStore, *, batches: int | None = None) -> int:
    """Copy records, at most `batches` of them; return the number of records that were read."""
    looked_at = 0
    for number, progress in enumerate(back_fill(source, target, SOURCE, batch_records=AT_ONCE), 1):
        looked_at = progress.records_read
        if number == batches:
            break
    return looked_at


@pytest.mark.slow
@pytest.mark.parametrize("count", [80_000, pytest.param(1_000_000, marks=pytest.mark.thorough)])
def test_all_records_move_while_both_stores_are_written(count: int, address: str, tmp_path: Path) -> None:
    def file() -> SqliteStore:
        return SqliteStore(tmp_path / "journal.db")

    def database() -> PostgresStore:
        return PostgresStore(lambda: address, timeout=60.0)

    with closing(file()) as source, closing(database()) as target:
        for first in range(1, count // FORMER_WORKERS + 1, AT_ONCE):
            for writer in range(FORMER_WORKERS):
                source.write([row(first + one, writer) for one in range(AT_ONCE)])
        # Its own connections: in a proxy, they belong to another process.
        traffic = Traffic(Journal(file(), database(), JournalSettings(retention=0.0), writer=FORMER_WORKERS))
        try:
            looked_at = moved(source, target, batches=count // AT_ONCE // 3)
            # It was stopped, and begins again.
            target.close()
            looked_at += moved(source, target)
            compared = compare(source, target, batch_records=AT_ONCE, pause=lambda: time.sleep(PAUSE_SECONDS))
        finally:
            traffic.end()
        assert compared.differences == 0
        assert count <= looked_at <= compared.records
        first, second = traffic.journal.counts()
        assert first.written == second.written == first.offered == traffic.noted
        assert traffic.journal.mismatches == 0
        mine, theirs = source.writers(), target.writers()
        assert mine == theirs
        assert sum(span.records for span in theirs.values()) == count + traffic.noted
