"""Files, as processes share and lose them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.journal.settings import Synchronous
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.store import JournalMissing, RecordsRejected

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from litellm_evenkeel.journal.record import RequestRecord

    Made = Callable[..., RequestRecord]

WORKERS = 8


def test_workers_that_open_a_new_file_at_once_all_write_it(tmp_path: Path, made: Made) -> None:
    for round_ in range(5):
        path, together = tmp_path / f"{round_}.db", threading.Barrier(WORKERS)

        def work(writer: int, path: Path = path, together: threading.Barrier = together) -> int:
            store = SqliteStore(path)
            together.wait()
            try:
                return store.write([made(number, writer) for number in range(1, 11)])
            finally:
                store.close()

        with ThreadPoolExecutor(WORKERS) as pool:
            assert list(pool.map(work, range(WORKERS))) == [10] * WORKERS
        store = SqliteStore(path)
        assert {writer: span.records for writer, span in store.writers().items()} == dict.fromkeys(range(WORKERS), 10)
        store.close()


@pytest.mark.parametrize("synchronous", Synchronous)
def test_a_file_is_written_ahead_and_as_safely_as_asked(tmp_path: Path, made: Made, synchronous: Synchronous) -> None:
    path = tmp_path / "j.db"
    store = SqliteStore(path, synchronous=synchronous)
    store.write([made(1)])
    with sqlite3.connect(path) as looking:
        assert looking.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    looking.close()
    store.close()


def test_the_size_of_its_log_is_0_until_something_is_written(tmp_path: Path, made: Made) -> None:
    store = SqliteStore(tmp_path / "j.db")
    assert store.log_bytes == 0
    store.write([made(1)])
    assert store.log_bytes
    store.close()


@pytest.mark.parametrize("statement", ["read", "page", "newest", "latest"])
def test_queries_use_an_index(tmp_path: Path, made: Made, statement: str) -> None:
    path = tmp_path / "j.db"
    store = SqliteStore(path)
    store.write([made(1)])
    text = getattr(store.statements, statement)
    with sqlite3.connect(path) as looking:
        plan = looking.execute(f"EXPLAIN QUERY PLAN {text}", [1] * text.count("?")).fetchall()
    looking.close()
    store.close()
    steps = [detail for *_, detail in plan]
    assert any("INDEX" in step or "PRIMARY KEY" in step for step in steps), steps
    assert not any(
        step.startswith(("SCAN evenkeel_journal", "USE TEMP B-TREE")) and "INDEX" not in step for step in steps
    )


def test_a_file_that_another_has_locked_is_told_and_written_later(tmp_path: Path, made: Made) -> None:
    path = tmp_path / "j.db"
    store = SqliteStore(path, busy_seconds=0.05)
    store.write([made(1)])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError) as told:
        store.write([made(2)])
    assert told.value.sqlite_errorname == "SQLITE_BUSY"
    other.execute("COMMIT")
    other.close()
    assert store.write([made(2)]) == 1
    # Only the write during the lock counts.
    assert store.locked == 1
    store.close()


FILLS = """
import resource, sqlite3, sys
from pathlib import Path
from litellm_evenkeel.journal.record import RequestRecord
from litellm_evenkeel.journal.sqlite import SqliteStore

def rows(first):
    texts = ("k" * 200, "a" * 200, "m" * 200)
    return [RequestRecord(1, number, 1, *texts, "", 200, "", 0.1, None, 1, 1, 0.0, 0, "", False, False)
            for number in range(first, first + 500)]

store = SqliteStore(Path(sys.argv[1]))
kept = store.write(rows(1))
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
try:
    store.write(rows(501))
except sqlite3.OperationalError as error:
    print(error.sqlite_errorname)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
print(kept, store.write(rows(501)), store.writers()[1].records)
"""


def test_where_there_is_no_room_nothing_is_lost_and_nothing_half_written(tmp_path: Path) -> None:
    found = subprocess.run([sys.executable, "-c", FILLS, tmp_path / "j.db"], capture_output=True, text=True, check=True)
    error, rest = found.stdout.splitlines()
    assert error in {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR"}
    assert rest == "500 500 1000"


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path, made: Made) -> None:
    path = tmp_path / "j.db"
    store = SqliteStore(path)
    store.write([made(1)])
    path.rename(tmp_path / "old.db")
    assert store.write([made(2)]) == 1
    assert [record.number for record in store.newest(10)] == [2]
    store.close()
    old = SqliteStore(tmp_path / "old.db", create=False)
    assert [record.number for record in old.newest(10)] == [1]
    old.close()


def test_what_is_only_read_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    store = SqliteStore(path, create=False)
    with pytest.raises(JournalMissing, match="contains no journal"):
        store.newest(1)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("version", [0, 1, 99])
@pytest.mark.parametrize("makes", [False, True])
def test_a_file_of_another_program_stays_as_it_is(tmp_path: Path, made: Made, version: int, *, makes: bool) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
        other.execute(f"PRAGMA user_version = {version}")
    other.close()
    before = path.read_bytes()
    store = SqliteStore(path, create=makes)
    with pytest.raises(JournalMissing, match="contains other tables"):
        store.write([made(1)])
    with pytest.raises(JournalMissing, match="contains other tables"):
        store.newest(1)
    store.close()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_journal_of_another_format_stays_as_it_is(tmp_path: Path, made: Made) -> None:
    path = tmp_path / "j.db"
    store = SqliteStore(path)
    store.write([made(1)])
    store.close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(JournalMissing, match="format 99"):
        store.write([made(2)])


def test_who_reads_a_journal_does_not_change_how_it_is_written(tmp_path: Path, made: Made) -> None:
    path = tmp_path / "j.db"
    store = SqliteStore(path)
    store.write([made(1)])
    store.close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA journal_mode = DELETE")
    other.close()
    reading = SqliteStore(path, create=False)
    assert [record.number for record in reading.newest(1)] == [1]
    reading.close()
    with sqlite3.connect(path) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    other.close()


def test_a_row_that_cannot_be_kept_is_refused_with_all_of_its_batch(tmp_path: Path, made: Made) -> None:
    store = SqliteStore(tmp_path / "j.db")
    with pytest.raises(RecordsRejected):
        store.write([made(1), made(2, status=None)])
    with pytest.raises(RecordsRejected):
        store.write([made(1), made(2, prompt_tokens=2**70)])
    assert store.newest(10) == []
    store.close()
