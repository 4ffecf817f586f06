"""Record store that raises `LabError` sentences with the store's name in place of a driver's errors."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import asyncpg

from evenkeel_lab.errors import NotReached, RigFailure, WrongUse
from litellm_evenkeel.journal.store import JournalMissing, RecordsRejected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import BackfillCursor, PageCursor, RecordStore, WriterRange
    from litellm_evenkeel.operator_actions import OperatorAction

WRONG_SCHEMA = (asyncpg.UndefinedColumnError, asyncpg.UndefinedTableError, asyncpg.WrongObjectTypeError)
# Lookup failures, connection failures and timeouts. An invalid host name raises UnicodeError.
NOT_REACHED = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, UnicodeError)


class NamedStore:
    """A record store whose errors begin with `label`. The methods are those of `RecordStore`."""

    def __init__(self, store: RecordStore, label: str) -> None:
        self._store, self._label = store, label
        # Only the plugin's metrics use `locked` and `log_bytes`.
        self.name, self.locked = store.name, 0
        self.log_bytes: int | None = None

    def write(self, records: Sequence[RequestRecord], cursor: BackfillCursor | None = None) -> int:
        """Write all records and the cursor, or nothing. Return the number of records that were new."""
        with self._errors_named():
            return self._store.write(records, cursor)

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` records older than `before`, in microseconds since 1970. Return their number."""
        with self._errors_named():
            return self._store.prune(before, limit)

    def writers(self) -> Mapping[int, WriterRange]:
        """Return the range of each writer's records. This reads all records."""
        with self._errors_named():
            return self._store.writers()

    def latest(self) -> Mapping[int, int]:
        """Return the last number of each writer. The cost does not depend on the number of records."""
        with self._errors_named():
            return self._store.latest()

    def read(self, writer: int, after: int, last: int, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of a writer, numbered above `after` and up to `last`, in order."""
        with self._errors_named():
            return self._store.read(writer, after, last, limit)

    def page(self, after: PageCursor, limit: int) -> list[RequestRecord]:
        """Return up to `limit` records of all writers after a cursor, the oldest first."""
        with self._errors_named():
            return self._store.page(after, limit)

    def newest(self, limit: int) -> list[RequestRecord]:
        """Return the `limit` newest records of all writers, the oldest first."""
        with self._errors_named():
            return self._store.newest(limit)

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return, for each writer, the number of the last record that was copied from the store `source`."""
        with self._errors_named():
            return self._store.backfill_positions(source)

    def actions(self, limit: int) -> list[OperatorAction]:
        """Return the `limit` newest actions of operators, the oldest first."""
        with self._errors_named():
            return self._store.actions(limit)

    def close(self) -> None:
        """Close the store. The next call opens it again."""
        self._store.close()

    @contextlib.contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Turn the errors of the journal and of its drivers into sentences that name the store."""
        try:
            yield
        except JournalMissing as error:
            raise WrongUse(
                f"{self._label} holds no journal that can be read: {error}.",
                hint="Name the file of `evenkeel.journal.path`, or the database of `evenkeel.journal.url`.",
            ) from error
        except RecordsRejected as error:
            raise RigFailure(
                f"{self._label} cannot store one of these records: {error}.",
                hint="Report it as a bug, with that record.",
            ) from error
        except sqlite3.DatabaseError as error:
            raise _sqlite_error(self._label, error) from error
        except asyncpg.exceptions.ClientConfigurationError as error:
            raise WrongUse(f"{self._label}: {error}.", hint="Correct the address.") from error
        except WRONG_SCHEMA as error:
            raise WrongUse(
                f"{self._label} holds other data where a journal would be: {error}.", hint="Name another database."
            ) from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise WrongUse(f"{self._label}: {error}.", hint="Grant this right to the user in the address.") from error
        except NOT_REACHED as error:
            raise NotReached(
                f"{self._label}: {str(error) or 'the server did not answer in time'}.",
                hint="Check that the server runs, and that the address and the password are right.",
            ) from error


def _sqlite_error(label: str, error: sqlite3.DatabaseError) -> WrongUse | RigFailure:
    """Return the sentence for an error of SQLite."""
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_NOTADB":
        return WrongUse(f"{label} is not a SQLite file.", hint="Name the file of `evenkeel.journal.path`.")
    if name.startswith("SQLITE_CORRUPT"):
        return RigFailure(
            f"{label} is damaged: {error}.",
            hint="Use an undamaged copy, or the records that `sqlite3 FILE .recover` saves.",
        )
    if name.startswith("SQLITE_BUSY"):
        return NotReached(f"{label} is locked by another process.", hint="Try again when that process is done.")
    if name == "SQLITE_ERROR":
        return WrongUse(f"{label} no longer holds a journal: {error}.", hint="Name the file that a proxy writes.")
    return RigFailure(
        f"{label}: {error}.",
        hint="Check that the file exists, that it can be read and written, and that the disk has free space.",
    )
