"""A journal by its address, and what can be wrong with it in a sentence."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg

from evenkeel_lab.errors import RigFailure, WrongUse
from litellm_evenkeel.journal.postgres import PostgresStore
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.store import NoJournal, RowsRefused
from litellm_evenkeel.postgres_address import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.store import Store

SCHEMES = ("postgres://", "postgresql://")
# As LiteLLM's configuration has it: an address with a password in it is seen by all who may list processes.
FROM_ENVIRONMENT = "os.environ/"
DIGITS = 16
# To count a large table takes its time.
PATIENCE_SECONDS = 600.0
NOT_REACHED = (TimeoutError, ConnectionRefusedError, ConnectionResetError, socket.gaierror)


@dataclass(frozen=True, slots=True)
class Opened:
    """A journal."""

    store: Store
    shown: str
    """Where it is, without a password."""
    known_as: str
    """By what another store knows it again."""


@contextlib.contextmanager
def opened(address: str, *, makes: bool = False) -> Iterator[Opened]:
    """Open a journal; errors of its driver become sentences. `makes` says whether one is made where there is none."""
    told = _told(address)
    found = _postgres(told, makes=makes) if told.startswith(SCHEMES) else _sqlite(Path(told), makes=makes)
    try:
        yield found
    except NoJournal as error:
        raise WrongUse(
            f"{found.shown} holds no journal that can be read: {error}.",
            cure="Name the file that evenkeel.journal.path names, or the database of evenkeel.journal.url.",
        ) from error
    except RowsRefused as error:
        raise RigFailure(
            f"{found.shown} cannot keep one of these rows ({error}).", cure="Please report it, with that row."
        ) from error
    except sqlite3.DatabaseError as error:
        raise _of_sqlite(found.shown, error) from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError, *NOT_REACHED) as error:
        said = str(error) or type(error).__name__
        raise RigFailure(
            f"{found.shown}: {said}.", cure="See that the server runs, and that its address and password are right."
        ) from error
    finally:
        found.store.close()


def _told(address: str) -> str:
    if not address.startswith(FROM_ENVIRONMENT):
        return address
    name = address.removeprefix(FROM_ENVIRONMENT)
    found = os.environ.get(name)
    if not found:
        raise WrongUse(f"{address}: there is no {name} in the environment.", cure=f"export {name}=postgresql://...")
    return found


def _sqlite(path: Path, *, makes: bool) -> Opened:
    if not path.parent.is_dir():
        raise WrongUse(f"There is no folder {path.parent}.", cure="Make it, or name a file elsewhere.")
    if not makes and not path.is_file():
        raise WrongUse(
            f"There is no journal at {path}.", cure="Name the file that evenkeel.journal.path names, as a path of here."
        )
    known_as = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:DIGITS]
    return Opened(SqliteStore(path, makes=makes), str(path), f"sqlite {known_as}")


def _postgres(url: str, *, makes: bool) -> Opened:
    try:
        address = urlsplit(url)
        shown = f"postgresql://{address.hostname or ''}{f':{address.port}' if address.port else ''}{address.path}"
    except ValueError as error:
        raise WrongUse(
            "This is no address of a Postgres.", cure="Write postgresql://user:password@host:5432/name."
        ) from error
    return Opened(PostgresStore(lambda: url, makes=makes, patience=PATIENCE_SECONDS), shown, f"postgres {place(url)}")


def _of_sqlite(shown: str, error: sqlite3.DatabaseError) -> WrongUse | RigFailure:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_NOTADB":
        return WrongUse(f"{shown} is no file of SQLite.", cure="Name the file that evenkeel.journal.path names.")
    if name.startswith("SQLITE_BUSY"):
        return RigFailure(f"{shown} is locked by another process.", cure="Try again when that is done.")
    return RigFailure(f"{shown}: {error}.", cure="See that the file may be read and written, and that there is room.")
