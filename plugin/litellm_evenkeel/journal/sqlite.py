"""Record store in an SQLite file.

The file has a write-ahead log, so readers and the writer do not block each other. Processes write one at a time, and
the others wait.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.journal.record import COLUMNS, RequestRecord
from litellm_evenkeel.journal.settings import Synchronous
from litellm_evenkeel.journal.store import COLUMN_NAMES, JournalMissing, RecordsRejected, SqlStore, Statements
from litellm_evenkeel.operator_actions import OperatorAction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from litellm_evenkeel.journal.store import BackfillCursor

FORMAT = 1
# Identifies a journal together with the format, because other programs use `user_version` for their formats too.
TABLE = "evenkeel_journal"
CREATE = f"""
CREATE TABLE evenkeel_journal (
    writer INTEGER NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL,
    key TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, deployment TEXT NOT NULL,
    status INTEGER NOT NULL, error TEXT NOT NULL, latency REAL NOT NULL, first_token REAL,
    prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost REAL NOT NULL,
    retries INTEGER NOT NULL, reason TEXT NOT NULL, is_stream INTEGER NOT NULL, is_cached INTEGER NOT NULL,
    PRIMARY KEY (writer, number)
) WITHOUT ROWID;
CREATE INDEX evenkeel_journal_time ON evenkeel_journal (time);
CREATE TABLE evenkeel_journal_moved (
    source TEXT NOT NULL, writer INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (source, writer)
) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""
CREATE_ACTIONS = """
CREATE TABLE IF NOT EXISTS evenkeel_journal_actions (
    time REAL NOT NULL, by TEXT NOT NULL, action TEXT NOT NULL, account TEXT NOT NULL, value TEXT NOT NULL,
    seconds REAL, reason TEXT NOT NULL
)
"""
INSERT_ACTION = "INSERT INTO evenkeel_journal_actions VALUES (?, ?, ?, ?, ?, ?, ?)"
NEWEST_ACTIONS = "SELECT * FROM evenkeel_journal_actions ORDER BY time DESC, rowid DESC LIMIT ?"
HAS_ACTIONS = "SELECT 1 FROM sqlite_schema WHERE name = 'evenkeel_journal_actions'"
INSERT = (
    f"INSERT INTO evenkeel_journal ({COLUMN_NAMES}) VALUES ({', '.join('?' * len(COLUMNS))}) "
    "ON CONFLICT (writer, number) DO NOTHING"
)
PRUNE = """
DELETE FROM evenkeel_journal WHERE (writer, number) IN (
    SELECT writer, number FROM evenkeel_journal WHERE time < ? ORDER BY time LIMIT ?
)
"""
# SQLite does not apply its busy timeout when processes open a new file at the same moment: one of them enables the
# write-ahead log, and the others fail at once. So opening is retried at this interval.
OPEN_RETRY_SECONDS = 0.02
MILLISECONDS_PER_SECOND = 1000
# The low byte of an extended error code is the primary code, such as SQLITE_BUSY.
PRIMARY_CODE_MASK = 0xFF
REJECTION_ERRORS = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError, UnicodeError)


class SqliteStore(SqlStore):
    """Store in a file that the first call opens."""

    name = "sqlite"
    statements = Statements(TABLE, "?")

    def __init__(
        self,
        path: Path,
        *,
        synchronous: Synchronous = Synchronous.NORMAL,
        busy_seconds: float = 5.0,
        create: bool = True,
    ) -> None:
        """Initialize the store. `create` is whether a missing journal is created."""
        self._path, self._synchronous, self._busy_seconds, self._may_create = path, synchronous, busy_seconds, create
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self.locked = 0
        """Writes that had to wait because another process had locked the file."""

    @property
    def log_bytes(self) -> int | None:
        """Size of the write-ahead log, which all processes share."""
        try:
            return self._path.with_name(f"{self._path.name}-wal").stat().st_size
        except OSError:
            return 0

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Write all records and the cursor, or nothing. Return the number of records that were new."""
        try:
            with self._transaction() as connection:
                inserted = connection.executemany(INSERT, records).rowcount
                if cursor is not None:
                    connection.execute(self.statements.save_position, (cursor.source, cursor.writer, cursor.number))
        except REJECTION_ERRORS as error:
            raise RecordsRejected(type(error).__name__) from error
        return inserted

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` records older than `before`, in microseconds since 1970. Return their number."""
        with self._transaction() as connection:
            return connection.execute(PRUNE, (before, limit)).rowcount

    def write_action(self, action: OperatorAction) -> None:
        """Write an action of an operator. The table is created if it is missing."""
        with self._transaction() as connection:
            connection.execute(CREATE_ACTIONS)
            connection.execute(INSERT_ACTION, action)

    def actions(self, limit: int) -> list[OperatorAction]:
        """Return the `limit` newest actions, the oldest first."""
        if not self._fetch(HAS_ACTIONS):
            return []
        return [OperatorAction._make(row) for row in self._fetch(NEWEST_ACTIONS, limit)][::-1]

    def close(self) -> None:
        """Close the file. The next call opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _fetch(self, statement: str, *parameters: object) -> Sequence[Any]:
        return self._open().execute(statement, parameters).fetchall()

    @staticmethod
    def _record(row: Sequence[Any]) -> RequestRecord:
        *unchanged, is_stream, is_cached = row
        return RequestRecord._make((*unchanged, bool(is_stream), bool(is_cached)))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction that holds the write lock from its start.

        A transaction that starts with a read and then writes fails at once if another process has written meanwhile.
        """
        connection = self._open()
        self._begin(connection)
        with connection:
            yield connection

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Begin a write transaction. If another process holds the lock, count that and wait for it."""
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            self.locked += 1
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * MILLISECONDS_PER_SECOND)}")
        if not connection.in_transaction:
            connection.execute("BEGIN IMMEDIATE")

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and not self._is_same_file():
            # The file was moved or deleted, so further writes to it would be lost. The checkpoint copies earlier
            # writes from its log into the file: the log's name is the one that the new file's log will have.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.close()
        if self._connection is None:
            mode = "rwc" if self._may_create else "rw"
            address = f"{self._path.absolute().as_uri()}?mode={mode}"
            connection = sqlite3.connect(address, uri=True, timeout=self._busy_seconds, isolation_level=None)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._inode = connection, self._path.stat().st_ino
        return self._connection

    def _is_same_file(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _prepare(self, connection: sqlite3.Connection) -> None:
        has_journal = _holds_journal(connection)
        if not has_journal and not self._may_create:
            raise JournalMissing("it contains no journal")
        # A reader must not change the file, not even its journal mode.
        if self._may_create:
            self._enable_wal(connection)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        if not has_journal:
            self._create(connection)

    def _enable_wal(self, connection: sqlite3.Connection) -> None:
        retry_until = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= retry_until:
                    raise
                time.sleep(OPEN_RETRY_SECONDS)
            else:
                break

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            # Another process may have created it since the check.
            if connection.execute("PRAGMA user_version").fetchone() == (0,):
                for statement in CREATE.split(";"):
                    connection.execute(statement)


def _holds_journal(connection: sqlite3.Connection) -> bool:
    """Return whether a file contains a journal. Raise JournalMissing if it contains anything else."""
    # One transaction for both queries, because another process may create the journal between them.
    connection.execute("BEGIN")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    connection.execute("COMMIT")
    if TABLE not in tables and (tables or version == FORMAT):
        raise JournalMissing("it contains other tables; give the journal a file of its own")
    if version != FORMAT and (version or tables):
        raise JournalMissing(f"expected format {FORMAT}, got format {version}")
    return TABLE in tables


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & PRIMARY_CODE_MASK == sqlite3.SQLITE_BUSY
