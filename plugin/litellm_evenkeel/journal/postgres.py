"""Record store in Postgres: tables in the plugin's schema, which are created if they are missing."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from litellm_evenkeel.journal.record import COLUMNS, RequestRecord
from litellm_evenkeel.journal.store import COLUMN_NAMES, JournalMissing, RecordsRejected, SqlStore, Statements
from litellm_evenkeel.operator_actions import OperatorAction
from litellm_evenkeel.support.postgres import LOCK, SCHEMA, arguments, create_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from litellm_evenkeel.journal.store import BackfillCursor

T = TypeVar("T")

TABLE = "journal"
COLUMN_TYPES = ("bigint", "bigint", "timestamptz", *["text"] * 4, "integer", "text", "float8", "float8")
COLUMN_TYPES += ("bigint", "bigint", "float8", "integer", "text", "boolean", "boolean")
NULLABLE_COLUMN = "first_token"
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
ACTIONS = f"{SCHEMA}.{TABLE}_actions"
CREATE_ACTIONS = f"""
CREATE TABLE {ACTIONS} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time timestamptz NOT NULL, by text NOT NULL,
    action text NOT NULL, account text NOT NULL, value text NOT NULL, seconds float8, reason text NOT NULL
)
"""
ACTION_COLUMNS = "time, by, action, account, value, seconds, reason"
INSERT_ACTION = f"INSERT INTO {ACTIONS} ({ACTION_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
NEWEST_ACTIONS = f"SELECT {ACTION_COLUMNS} FROM {ACTIONS} ORDER BY time DESC, id DESC LIMIT $1"
HAS_ACTIONS = f"SELECT to_regclass('{ACTIONS}') IS NOT NULL"
HAS_TABLES = f"SELECT to_regclass('{SCHEMA}.{TABLE}_moved') IS NOT NULL"
UNNEST = (
    f"INSERT INTO {SCHEMA}.{TABLE} ({COLUMN_NAMES}) "
    f"SELECT * FROM unnest({', '.join(f'${position}::{kind}[]' for position, kind in enumerate(COLUMN_TYPES, 1))}) "
    "ON CONFLICT (writer, number) DO NOTHING"
)
PRUNE = f"""
DELETE FROM {SCHEMA}.{TABLE} WHERE (writer, number) IN (
    SELECT writer, number FROM {SCHEMA}.{TABLE} WHERE time < $1 ORDER BY time LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND, MICROSECONDS_PER_SECOND = timedelta(microseconds=1), 1_000_000
TIME = COLUMNS.index("time")
# Beside Postgres' own errors: those of a time out of range, and of values that COPY cannot encode for a column.
REJECTION_ERRORS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    OverflowError,
    TypeError,
    UnicodeError,
)
CONNECT_TIMEOUT_SECONDS, CLOSE_TIMEOUT_SECONDS = 10.0, 1.0


class PostgresStore(SqlStore):
    """Store in a Postgres database.

    `url` is called for every connection, because passwords may rotate. Calls block, so use the store from a thread
    without an event loop. Statements are not prepared under a name, so that a pooler such as PgBouncer may be in
    between. A call that takes longer than `timeout` seconds is cancelled.
    """

    name = "postgres"
    statements = Statements(f"{SCHEMA}.{TABLE}", "$")
    locked = 0
    log_bytes: int | None = None

    def __init__(self, url: Callable[[], str], *, timeout: float = 10.0, create: bool = True) -> None:
        """Initialize the store. `create` is whether a missing journal is created."""
        self._url, self._timeout, self._may_create = url, timeout, create
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Any = None

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Write all records and the cursor, or nothing. Return the number of records that were new."""
        return self._run(lambda connection: self._write(connection, records, cursor))

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` records older than `before`, in microseconds since 1970. Return their number."""
        return _count(self._run(lambda connection: connection.execute(PRUNE, to_datetime(before), limit)))

    def write_action(self, action: OperatorAction) -> None:
        """Write an action of an operator. The table is created if it is missing."""
        self._run(lambda connection: self._write_action(connection, action))

    def actions(self, limit: int) -> list[OperatorAction]:
        """Return the `limit` newest actions, the oldest first."""
        ((has_actions,),) = self._fetch(HAS_ACTIONS)
        rows = self._fetch(NEWEST_ACTIONS, limit) if has_actions else []
        return [OperatorAction(row[0].timestamp(), *row[1:]) for row in rows][::-1]

    def close(self) -> None:
        """Close the connection. The next call connects again."""
        connection, self._connection = self._connection, None
        loop, self._loop = self._loop, None
        if loop is None:
            return
        if connection is not None:
            with contextlib.suppress(Exception):
                loop.run_until_complete(connection.close(timeout=CLOSE_TIMEOUT_SECONDS))
        loop.close()

    async def _write(self, connection: Any, records: Sequence[RequestRecord], cursor: BackfillCursor | None) -> int:
        try:
            rows = [(*record[:TIME], to_datetime(record.time), *record[TIME + 1 :]) for record in records]
            columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
            async with contextlib.nullcontext() if cursor is None else connection.transaction():
                inserted = _count(await connection.execute(UNNEST, *columns))
                if cursor is not None:
                    position = (cursor.source, cursor.writer, cursor.number)
                    await connection.execute(self.statements.save_position, *position)
        except REJECTION_ERRORS as error:
            raise RecordsRejected(type(error).__name__) from error
        return inserted

    async def _write_action(self, connection: Any, action: OperatorAction) -> None:
        async with connection.transaction():
            if not await connection.fetchval(HAS_ACTIONS):
                await connection.execute(LOCK)
                if not await connection.fetchval(HAS_ACTIONS):
                    await connection.execute(CREATE_ACTIONS)
            time = to_datetime(int(action.time * MICROSECONDS_PER_SECOND))
            await connection.execute(INSERT_ACTION, time, *action[1:])

    def _fetch(self, statement: str, *parameters: object) -> Sequence[Any]:
        return self._run(lambda connection: connection.fetch(statement, *parameters))

    @staticmethod
    def _record(row: Sequence[Any]) -> RequestRecord:
        return RequestRecord._make((*row[:TIME], (row[TIME] - EPOCH) // MICROSECOND, *row[TIME + 1 :]))

    def _time(self, microseconds: int) -> object:
        return to_datetime(microseconds)

    def _run(self, operation: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(self._run_with_timeout(operation))
        try:
            return self._loop.run_until_complete(task)
        except RecordsRejected:
            raise
        except BaseException:
            # The connection's state is unknown, such as whether a statement still runs. So it cannot be used again.
            self._drop(self._loop, task)
            raise

    async def _run_with_timeout(self, operation: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        async with asyncio.timeout(self._timeout):
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
            return await operation(self._connection)

    async def _connect(self) -> Any:
        address = arguments(self._url())
        server_settings = {"application_name": "litellm-evenkeel journal", **address["server_settings"]}
        connection = await asyncpg.connect(
            **address | {"server_settings": server_settings}, statement_cache_size=0, timeout=CONNECT_TIMEOUT_SECONDS
        )
        try:
            # Checked first, because a user who may not create tables can still write to existing ones.
            if not await connection.fetchval(HAS_TABLES):
                await self._create(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _create(self, connection: Any) -> None:
        if not self._may_create:
            raise JournalMissing("it contains no journal")
        await create_tables(connection, CREATE)

    def _drop(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
        # If a signal interrupted the wait, the task is still running.
        task.cancel()
        with contextlib.suppress(BaseException):
            loop.run_until_complete(task)
        # Run the callbacks that the terminated connection has scheduled, before the loop may be closed.
        loop.run_until_complete(asyncio.sleep(0))


def to_datetime(microseconds: int) -> datetime:
    """Return a record's time as the `datetime` that asyncpg expects."""
    return EPOCH + timedelta(microseconds=microseconds)


def _count(command_tag: str) -> int:
    """Return the number of affected rows from a command tag such as `INSERT 0 5`."""
    return int(command_tag.rpartition(" ")[2])
