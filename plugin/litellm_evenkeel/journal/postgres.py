"""Rows in Postgres: a table of its own, in a schema of its own, which are made where they are missing.

Not beside LiteLLM's tables: what brings those up to date may drop what it does not know there.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from litellm_evenkeel.journal.record import COLUMNS, RequestRecord
from litellm_evenkeel.journal.settings import InsertMethod
from litellm_evenkeel.journal.store import JournalMissing, RecordsRejected, WriterRange, latest_query
from litellm_evenkeel.support.postgres import arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from litellm_evenkeel.journal.store import BackfillCursor, PageCursor

T = TypeVar("T")

SCHEMA, TABLE = "evenkeel", "journal"
COLUMN_TYPES = ("bigint", "bigint", "timestamptz", *["text"] * 4, "integer", "text", "float8", "float8")
COLUMN_TYPES += ("bigint", "bigint", "float8", "integer", "text", "boolean", "boolean")
NULLABLE_COLUMN = "first_token"
# Who may make no schema is content with one that is there; Postgres asks who it is before it looks for one.
CREATE_SCHEMA = f"CREATE SCHEMA {SCHEMA}"
HAS_SCHEMA = f"SELECT to_regnamespace('{SCHEMA}') IS NOT NULL"
CREATE = f"""
CREATE TABLE IF NOT EXISTS {SCHEMA}.{TABLE} (
    {", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS, COLUMN_TYPES, strict=True))},
    PRIMARY KEY (writer, number),
    CHECK (({", ".join(name for name in COLUMNS if name != NULLABLE_COLUMN)}) IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS {TABLE}_time ON {SCHEMA}.{TABLE} (time, writer, number);
CREATE TABLE IF NOT EXISTS {SCHEMA}.{TABLE}_moved (
    source text, writer bigint, number bigint NOT NULL, PRIMARY KEY (source, writer)
);
"""
HAS_TABLES = f"SELECT to_regclass('{SCHEMA}.{TABLE}_moved') IS NOT NULL"
# Of workers that start together, one makes the table.
LOCK = "SELECT pg_advisory_xact_lock(hashtext('evenkeel.journal'))"
COLUMN_NAMES = ", ".join(COLUMNS)
UNNEST = (
    f"INSERT INTO {SCHEMA}.{TABLE} ({COLUMN_NAMES}) "
    f"SELECT * FROM unnest({', '.join(f'${place}::{kind}[]' for place, kind in enumerate(COLUMN_TYPES, 1))}) "
    "ON CONFLICT (writer, number) DO NOTHING"
)
SAVE_POSITION = f"""
INSERT INTO {SCHEMA}.{TABLE}_moved VALUES ($1, $2, $3)
ON CONFLICT (source, writer) DO UPDATE SET number = excluded.number
"""
PRUNE = f"""
DELETE FROM {SCHEMA}.{TABLE} WHERE (writer, number) IN (
    SELECT writer, number FROM {SCHEMA}.{TABLE} WHERE time < $1 ORDER BY time LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""
READ = f"""
SELECT {COLUMN_NAMES} FROM {SCHEMA}.{TABLE} WHERE writer = $1 AND number > $2 AND number <= $3 ORDER BY number LIMIT $4
"""
ORDER = "time {0}, writer {0}, number {0}"
PAGE = f"""
SELECT {COLUMN_NAMES} FROM {SCHEMA}.{TABLE}
WHERE (time, writer, number) > ($1, $2, $3) ORDER BY {ORDER.format("ASC")} LIMIT $4
"""
NEWEST = f"SELECT {COLUMN_NAMES} FROM {SCHEMA}.{TABLE} ORDER BY {ORDER.format('DESC')} LIMIT $1"
WRITERS = f"SELECT writer, min(number), max(number), count(*) FROM {SCHEMA}.{TABLE} GROUP BY writer"
LATEST = latest_query(f"{SCHEMA}.{TABLE}")
BACKFILL_POSITIONS = f"SELECT writer, number FROM {SCHEMA}.{TABLE}_moved WHERE source = $1"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
TIME = COLUMNS.index("time")
# Besides Postgres' own: a time that is none, and what COPY does not take for a column's kind at all.
REJECTION_ERRORS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    OverflowError,
    TypeError,
    UnicodeError,
)
CONNECT_TIMEOUT_SECONDS, CLOSE_TIMEOUT_SECONDS = 10.0, 1.0
APPLICATION_NAME = "litellm-evenkeel journal"


class PostgresStore:
    """Rows in the database of an address, which is read anew for each connection: passwords may rotate.

    Whoever uses it waits for it, in a thread without an event loop. No statement is prepared under a name, so that a
    pooler such as PgBouncer may stand between. One that takes longer than `patience` is cancelled.
    """

    name = "postgres"
    locked = 0

    def __init__(
        self,
        url: Callable[[], str],
        *,
        insert: InsertMethod = InsertMethod.UNNEST,
        timeout: float = 10.0,
        create: bool = True,
    ) -> None:
        """`makes` says whether a journal is made where there is none."""
        self._url, self._insert, self._timeout, self._may_create = url, insert, timeout, create
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Any = None

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Keep rows, all or none of them, and return how many of them were new."""
        return self._run(lambda connection: self._write(connection, records, cursor))

    def prune(self, before: int, limit: int) -> int:
        """Delete some rows that are older than that, in microseconds since 1970; return how many."""
        return _count(self._run(lambda connection: connection.execute(PRUNE, to_datetime(before), limit)))

    def writers(self) -> Mapping[int, WriterRange]:
        """Return whose rows there are, and which; all of them are looked at."""
        return {writer: WriterRange(*told) for writer, *told in self._run(lambda connection: connection.fetch(WRITERS))}

    def latest(self) -> Mapping[int, int]:
        """Return up to which number there are rows of each writer, at no more cost where there are many rows."""
        return dict(self._run(lambda connection: connection.fetch(LATEST)))

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Return some of a writer's rows beyond a number, in the order of their numbers."""
        return list(map(_row, self._run(lambda connection: connection.fetch(READ, writer, after, last, limit))))

    def page(self, after: PageCursor, limit: int) -> list[RequestRecord]:
        """Return some rows of all writers beyond a place, the oldest first."""
        time, writer, number = after
        asked = (to_datetime(time), writer, number, limit)
        return list(map(_row, self._run(lambda connection: connection.fetch(PAGE, *asked))))

    def newest(self, limit: int) -> list[RequestRecord]:
        """Return the newest rows of all writers, the oldest of them first."""
        return list(map(_row, self._run(lambda connection: connection.fetch(NEWEST, limit))))[::-1]

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return up to which of each writer's rows all has been moved here from another store."""
        return dict(self._run(lambda connection: connection.fetch(BACKFILL_POSITIONS, source)))

    def close(self) -> None:
        """Let go of the server; the next call connects anew."""
        connection, self._connection = self._connection, None
        loop, self._loop = self._loop, None
        if loop is None:
            return
        if connection is not None:
            with contextlib.suppress(Exception):
                loop.run_until_complete(connection.close(timeout=CLOSE_TIMEOUT_SECONDS))
        loop.close()

    async def _write(self, connection: Any, records: Sequence[RequestRecord], moved: BackfillCursor | None) -> int:
        try:
            return await self._insert_records(connection, records, moved)
        except REJECTION_ERRORS as error:
            raise RecordsRejected(type(error).__name__) from error

    async def _insert_records(
        self, connection: Any, records: Sequence[RequestRecord], moved: BackfillCursor | None
    ) -> int:
        told = [(*record[:TIME], to_datetime(record.time), *record[TIME + 1 :]) for record in records]
        if self._insert is InsertMethod.COPY and moved is None:
            try:
                await connection.copy_records_to_table(TABLE, records=told, columns=COLUMNS, schema_name=SCHEMA)
            except asyncpg.UniqueViolationError:
                # Some are there already, since a server may take rows without a chance to say so.
                pass
            else:
                return len(records)
        columns = list(zip(*told, strict=True)) or [()] * len(COLUMNS)
        if moved is None:
            return _count(await connection.execute(UNNEST, *columns))
        async with connection.transaction():
            found = _count(await connection.execute(UNNEST, *columns))
            await connection.execute(SAVE_POSITION, moved.source, moved.writer, moved.number)
        return found

    def _run(self, asked: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(self._run_with_timeout(asked))
        try:
            return self._loop.run_until_complete(task)
        except RecordsRejected:
            raise
        except BaseException:
            # Of what was under way there, nobody knows any more.
            self._drop(self._loop, task)
            raise

    async def _run_with_timeout(self, asked: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        async with asyncio.timeout(self._timeout):
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
            return await asked(self._connection)

    async def _connect(self) -> Any:
        told = arguments(self._url())
        named = {"application_name": APPLICATION_NAME, **told["server_settings"]}
        connection = await asyncpg.connect(
            **told | {"server_settings": named}, statement_cache_size=0, timeout=CONNECT_TIMEOUT_SECONDS
        )
        try:
            # Who may not create tables is content with those that are there.
            if not await connection.fetchval(HAS_TABLES):
                await self._create(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _create(self, connection: Any) -> None:
        if not self._may_create:
            raise JournalMissing("there is none in it")
        async with connection.transaction():
            await connection.execute(LOCK)
            if not await connection.fetchval(HAS_SCHEMA):
                await connection.execute(CREATE_SCHEMA)
            await connection.execute(CREATE)

    def _drop(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
        # Where a signal has broken off the wait for it, it is still under way.
        task.cancel()
        with contextlib.suppress(BaseException):
            loop.run_until_complete(task)
        # What the connection has left to the loop is done with.
        loop.run_until_complete(asyncio.sleep(0))


def to_datetime(microseconds: int) -> datetime:
    """Return a row's time as Postgres takes it."""
    return EPOCH + timedelta(microseconds=microseconds)


def _row(told: Sequence[Any]) -> RequestRecord:
    return RequestRecord._make((*told[:TIME], (told[TIME] - EPOCH) // MICROSECOND, *told[TIME + 1 :]))


def _count(said: str) -> int:
    """Return how many rows a command has touched, of what the server said of it."""
    return int(said.rpartition(" ")[2])
