"""All that keep rows keep them alike: a file of SQLite, and a real Postgres, by statement and by bulk."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.journal_reader.comparing import compare
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres
from litellm_evenkeel.journal.backfill import back_fill
from litellm_evenkeel.journal.postgres import PostgresStore
from litellm_evenkeel.journal.record import MAX_INTEGER, RequestRecord, safe_float, safe_int, safe_text
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.store import BackfillCursor, JournalMissing, PageCursor, RecordsRejected, WriterRange
from litellm_evenkeel.operator_actions import OperatorAction

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from litellm_evenkeel.journal.store import RecordStore

KINDS = ("sqlite", "postgres")


@pytest.fixture(scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    logs = tmp_path_factory.mktemp("logs")
    async with stack_folder() as folder, Postgres(folder, logs) as database:
        yield database.url


def ask(address: str, query: str) -> Any:
    async def asking() -> Any:
        connection = await asyncpg.connect(address)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    with asyncio.Runner() as runner:
        return runner.run(asking())


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, address: str, tmp_path: Path) -> Iterator[SqliteStore | PostgresStore]:
    if request.param == "sqlite":
        made: SqliteStore | PostgresStore = SqliteStore(tmp_path / "journal.db")
    else:
        ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")
        made = PostgresStore(lambda: address)
    yield made
    made.close()


def test_actions_of_operators_are_kept_beside_the_records(store: SqliteStore | PostgresStore) -> None:
    assert store.actions(10) == []
    done = [
        OperatorAction(1_700_000_000.25, "anna", "pause", "north", seconds=3600.0, reason="é; DROP TABLE x"),
        OperatorAction(1_700_000_001.0, "ben", "weight", "north", value="0.5"),
        OperatorAction(1_700_000_001.0, "ben", "resume", "north"),
    ]
    for action in done:
        store.write_action(action)
    assert store.actions(10) == done
    assert store.actions(1) == done[-1:]
    assert store.write([row(1)]) == 1
    assert store.newest(10) == [row(1)]


def test_what_is_written_is_read_again(store: RecordStore) -> None:
    records = [
        row(1),
        row(2)._replace(first_token=0.5, is_stream=True, error="é", status=500),
        row(3)._replace(is_cached=True),
    ]
    assert store.write(records) == 3
    assert store.newest(10) == records
    assert store.read(1, 0, 10, 10) == records
    assert store.page(PageCursor(0), 10) == records


def test_no_row_is_written_twice(store: RecordStore) -> None:
    assert store.write([row(1), row(2)]) == 2
    assert store.write([row(2)._replace(status=500), row(3)]) == 1
    assert [(one.number, one.status) for one in store.newest(10)] == [(1, 200), (2, 200), (3, 200)]


def test_nothing_may_be_written(store: RecordStore) -> None:
    assert store.write([]) == 0
    assert store.newest(10) == []
    assert store.writers() == store.latest() == {}


def test_writers_are_told_with_their_gaps(store: RecordStore) -> None:
    store.write([row(number, writer) for number, writer in ((1, 7), (2, 7), (5, 7), (3, MAX_INTEGER))])
    assert store.writers() == {7: WriterRange(1, 5, 3), MAX_INTEGER: WriterRange(3, 3, 1)}
    assert store.writers()[7].gaps == 2
    assert store.latest() == {7: 5, MAX_INTEGER: 3}


def test_a_writers_rows_are_read_in_their_order_some_at_a_time(store: RecordStore) -> None:
    store.write([row(number, writer) for writer in (1, 2) for number in (9, 1, 5, 3, 7)])
    assert [one.number for one in store.read(1, 1, 7, 2)] == [3, 5]
    assert [one.number for one in store.read(1, 5, 7, 9)] == [7]


def test_pages_follow_the_order_of_time_and_leave_nothing_out(store: RecordStore) -> None:
    store.write([row(number, writer)._replace(time=number // 3) for writer in (1, 2) for number in range(1, 20)])
    found, after = [], PageCursor(-1)
    while records := store.page(after, 4):
        found += records
        after = PageCursor(records[-1].time, records[-1].writer, records[-1].number)
    assert len(found) == 38
    assert found == sorted(found, key=lambda one: (one.time, one.writer, one.number))
    assert store.newest(5) == found[-5:]


def test_what_is_too_old_is_deleted_some_at_a_time(store: RecordStore) -> None:
    store.write([row(number)._replace(time=number) for number in range(1, 11)])
    assert store.prune(6, 3) == 3
    assert store.prune(6, 3) == 2
    assert store.prune(6, 3) == 0
    assert [one.number for one in store.newest(10)] == [6, 7, 8, 9, 10]


def test_a_row_that_cannot_be_kept_is_refused_with_its_batch_and_the_store_goes_on(store: RecordStore) -> None:
    with pytest.raises(RecordsRejected):
        store.write([row(1), row(2)._replace(status=None)])  # type: ignore[arg-type]
    for wrong in ({"prompt_tokens": 2**70}, {"model": "\ud800"}, {"time": 2**70}):
        with pytest.raises(RecordsRejected):
            store.write([row(1), row(2)._replace(**wrong)])
    assert store.newest(10) == []
    assert store.write([row(1)]) == 1


def test_how_far_a_move_is_stands_with_the_rows(store: RecordStore) -> None:
    assert store.backfill_positions("a") == {}
    store.write([row(1)], BackfillCursor("a", 1, 1))
    store.write([row(2)], BackfillCursor("a", 1, 2))
    store.write([row(1, 2)], BackfillCursor("b", 2, 1))
    assert store.backfill_positions("a") == {1: 2}
    with pytest.raises(RecordsRejected):
        store.write([row(3), row(4)._replace(status=None)], BackfillCursor("a", 1, 4))  # type: ignore[arg-type]
    assert store.backfill_positions("a") == {1: 2}
    assert [one.number for one in store.newest(10)].count(3) == 0


def test_after_it_was_closed_it_is_opened_anew(store: RecordStore) -> None:
    store.write([row(1)])
    store.close()
    assert store.newest(10) == [row(1)]


ANY = st.text(alphabet=st.characters(codec=None)).map(safe_text)
ROWS = st.builds(
    RequestRecord,
    writer=st.integers(0, MAX_INTEGER),
    number=st.integers(1, MAX_INTEGER),
    time=st.integers(0, 4 * 10**15),
    key=ANY,
    account=ANY,
    model=ANY,
    deployment=ANY,
    status=st.integers(100, 999),
    error=ANY,
    latency=st.floats().map(safe_float),
    first_token=st.none() | st.floats().map(safe_float),
    prompt_tokens=st.integers().map(safe_int),
    output_tokens=st.integers().map(safe_int),
    cost=st.floats().map(safe_float),
    retries=st.integers(0, 1000),
    reason=ANY,
    is_stream=st.booleans(),
    is_cached=st.booleans(),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(ROWS, max_size=20, unique_by=lambda one: (one.writer, one.number)))
def test_whatever_a_row_holds_comes_back_as_it_was(store: RecordStore, records: list[RequestRecord]) -> None:
    store.prune(MAX_INTEGER // 2048, 100_000)
    store.write(records)
    assert sorted(store.newest(100)) == sorted(records)


def test_rows_move_from_a_file_to_postgres_and_back(address: str, tmp_path: Path) -> None:
    ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")
    here, there, again = SqliteStore(tmp_path / "a.db"), PostgresStore(lambda: address), SqliteStore(tmp_path / "b.db")
    here.write([row(number, writer) for writer in (1, 2) for number in range(1, 3001)])
    for source, target in ((here, there), (there, again)):
        list(back_fill(source, target, "s", batch_records=800))
        assert compare(source, target, pause=lambda: None).differences == 0
    assert again.newest(10_000) == here.newest(10_000)
    for one in (here, there, again):
        one.close()


def test_a_server_that_breaks_off_is_connected_to_again(address: str) -> None:
    store = PostgresStore(lambda: address)
    store.write([row(1)])
    ask(address, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE '%journal'")
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        store.write([row(2)])
    store.write([row(2)])
    store.close()


def test_a_table_that_was_dropped_is_made_again(address: str) -> None:
    store = PostgresStore(lambda: address)
    store.write([row(1)])
    ask(address, "DROP SCHEMA evenkeel CASCADE")
    with pytest.raises(asyncpg.PostgresError):
        store.write([row(2)])
    assert store.write([row(2)]) == 1
    store.close()


def test_who_may_make_no_schema_is_content_with_one_that_is_there(address: str) -> None:
    ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")
    ask(address, "CREATE ROLE poor LOGIN PASSWORD 'p'")
    store = PostgresStore(lambda: re.sub(r"//[^@]+@", "//poor:p@", address))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        store.write([row(1)])
    ask(address, "CREATE SCHEMA evenkeel AUTHORIZATION poor")
    assert store.write([row(1)]) == 1
    store.close()
    ask(address, "DROP SCHEMA evenkeel CASCADE")


def test_what_is_only_read_is_not_made(address: str) -> None:
    ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")
    store = PostgresStore(lambda: address, create=False)
    with pytest.raises(JournalMissing):
        store.newest(1)
    store.close()
    assert ask(address, "SELECT count(*) FROM pg_namespace WHERE nspname = 'evenkeel'") == 0


def test_a_server_that_does_not_answer_is_given_up_in_time() -> None:
    async def silent(_: object, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(silent, "127.0.0.1", 0))
    port = server.sockets[0].getsockname()[1]
    store = PostgresStore(lambda: f"postgresql://a:b@127.0.0.1:{port}/c", timeout=0.3)
    with pytest.raises(TimeoutError):
        store.write([row(1)])
    store.close()
    server.close()
    loop.close()


def test_whoever_is_interrupted_leaves_nothing_behind(address: str, caplog: pytest.LogCaptureFixture) -> None:
    ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")
    store = PostgresStore(lambda: address)
    store.write([row(1)])
    with asyncio.Runner() as runner:
        other = runner.run(asyncpg.connect(address))
        runner.run(other.execute("BEGIN; LOCK TABLE evenkeel.journal"))
        pressed = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
        pressed.start()
        with pytest.raises(KeyboardInterrupt):
            store.newest(1)
        pressed.join()
        runner.run(other.execute("COMMIT"))
        runner.run(other.close())
    assert store.newest(10) == [row(1)]
    store.close()
    gc.collect()
    assert not caplog.records


def test_whoever_follows_it_goes_on_when_the_server_is_there_again(address: str) -> None:
    ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")
    store = PostgresStore(lambda: address)
    store.write([row(1)])
    # As a database's own name cannot be refused to who is in it.
    parts = urlsplit(address)
    name, elsewhere = parts.path[1:], parts._replace(path="/template1").geturl()
    command = [Path(sys.executable).with_name("evenkeel"), "journal", "tail", address, "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        gives_up = threading.Timer(60, following.kill)
        gives_up.start()
        assert json.loads(following.stdout.readline())["number"] == 1
        store.close()
        ask(elsewhere, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        ask(elsewhere, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        assert "Trying again" in following.stderr.readline()
        ask(elsewhere, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        store.write([row(2)])
        assert json.loads(following.stdout.readline())["number"] == 2
        following.send_signal(signal.SIGINT)
        assert following.wait() == 0
        gives_up.cancel()
    store.close()


def test_workers_that_make_the_table_at_once_all_write_it(address: str) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    ask(address, "DROP SCHEMA IF EXISTS evenkeel CASCADE")

    def work(writer: int) -> int:
        store = PostgresStore(lambda: address)
        try:
            return store.write([row(number, writer) for number in range(1, 11)])
        finally:
            store.close()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [10] * 6


def test_an_old_file_is_read_by_nobody_who_would_change_it(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(JournalMissing, match="format 7"):
        SqliteStore(path).write([row(1)])
