"""A store whose errors are sentences that say which of two it was."""

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

HOLDS_SOMETHING_ELSE = (asyncpg.UndefinedColumnError, asyncpg.UndefinedTableError, asyncpg.WrongObjectTypeError)
# What cannot be looked up, reached or waited for; a name of a host that cannot be one is a UnicodeError.
NOT_REACHED = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, UnicodeError)


class Telling:
    """A store, and how it is called."""

    def __init__(self, store: RecordStore, shown: str) -> None:
        self._store, self._shown = store, shown
        # Who reads a journal, or moves it, does not ask how often it was locked.
        self.name, self.locked = store.name, 0

    def write(self, records: Sequence[RequestRecord], moved: BackfillCursor | None = None) -> int:
        """Keep rows, all or none of them, and return how many of them were new."""
        with self._told():
            return self._store.write(records, moved)

    def prune(self, before: int, most: int) -> int:
        """Delete some rows that are older than that, in microseconds since 1970; return how many."""
        with self._told():
            return self._store.prune(before, most)

    def writers(self) -> Mapping[int, WriterRange]:
        """Return whose rows there are, and which; all of them are looked at."""
        with self._told():
            return self._store.writers()

    def latest(self) -> Mapping[int, int]:
        """Return up to which number there are rows of each writer, at no more cost where there are many rows."""
        with self._told():
            return self._store.latest()

    def read(self, writer: int, after: int, upto: int, most: int) -> list[RequestRecord]:
        """Return some of a writer's rows beyond a number, in the order of their numbers."""
        with self._told():
            return self._store.read(writer, after, upto, most)

    def page(self, after: PageCursor, most: int) -> list[RequestRecord]:
        """Return some rows of all writers beyond a place, the oldest first."""
        with self._told():
            return self._store.page(after, most)

    def newest(self, most: int) -> list[RequestRecord]:
        """Return the newest rows of all writers, the oldest of them first."""
        with self._told():
            return self._store.newest(most)

    def backfill_positions(self, source: str) -> Mapping[int, int]:
        """Return up to which of each writer's rows all has been moved here from another store."""
        with self._told():
            return self._store.backfill_positions(source)

    def close(self) -> None:
        """Let go of it; the next call opens it anew."""
        self._store.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except JournalMissing as error:
            raise WrongUse(
                f"{self._shown} holds no journal that can be read: {error}.",
                hint="Name the file that evenkeel.journal.path names, or the database of evenkeel.journal.url.",
            ) from error
        except RecordsRejected as error:
            raise RigFailure(
                f"{self._shown} cannot keep one of these rows ({error}).", hint="Please report it, with that row."
            ) from error
        except sqlite3.DatabaseError as error:
            raise _of_sqlite(self._shown, error) from error
        except asyncpg.exceptions.ClientConfigurationError as error:
            raise WrongUse(f"{self._shown}: {error}.", hint="Mend it in the address.") from error
        except HOLDS_SOMETHING_ELSE as error:
            raise WrongUse(
                f"{self._shown} holds something else where a journal would be: {error}.", hint="Name another database."
            ) from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise WrongUse(f"{self._shown}: {error}.", hint="Let the user of the address do that.") from error
        except NOT_REACHED as error:
            said = str(error) or "it does not answer in time"
            raise NotReached(
                f"{self._shown}: {said}.", hint="See that the server runs, and that its address and password are right."
            ) from error


def _of_sqlite(shown: str, error: sqlite3.DatabaseError) -> WrongUse | RigFailure:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_NOTADB":
        return WrongUse(f"{shown} is no file of SQLite.", hint="Name the file that evenkeel.journal.path names.")
    if name.startswith("SQLITE_CORRUPT"):
        return RigFailure(
            f"{shown} is damaged: {error}.",
            hint="Take a copy that is whole, or see what `sqlite3 FILE .recover` saves.",
        )
    if name.startswith("SQLITE_BUSY"):
        return NotReached(f"{shown} is locked by another process.", hint="Try again when that is done.")
    if name == "SQLITE_ERROR":
        return WrongUse(f"{shown} holds no journal any more: {error}.", hint="Name the file that a proxy writes.")
    return RigFailure(
        f"{shown}: {error}.", hint="See that the file is there, may be read and written, and that there is room."
    )
