"""Stores as the settings say. Nothing is opened before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.terms import Kind
from litellm_evenkeel.postgres_address import WRITTEN, is_postgres

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.journal.store import Store
    from litellm_evenkeel.journal.terms import JournalTerms


def opened(terms: JournalTerms, where: str, database: Callable[[], str]) -> Journal:
    """Return a worker's journal; `database` tells the address of LiteLLM's own when it is needed."""
    second = terms.second.kind
    if second is terms.store:
        raise SettingsError(f"{where}.second: rows are in {second} already. Write none, or the other one.")
    first = _store(terms.store, terms, where, database)
    return Journal(first, None if second is None else _store(second, terms, where, database), terms)


def _store(kind: Kind, terms: JournalTerms, where: str, database: Callable[[], str]) -> Store:
    if kind is Kind.SQLITE:
        path = Path(terms.path).absolute()
        if not path.parent.is_dir():
            raise SettingsError(f"{where}.path: there is no folder {path.parent}. Make it, or name a file elsewhere.")
        return SqliteStore(path, synchronous=terms.synchronous, busy=terms.busy)
    from litellm_evenkeel.journal.postgres import PostgresStore  # noqa: PLC0415 - a driver

    own = terms.url
    # Not to find out with the first row what is wrong with it.
    if own is None:
        database()
    elif not is_postgres(own.value):
        raise SettingsError(f"{where}.url: this is no address of a Postgres. {WRITTEN}")
    return PostgresStore(database if own is None else lambda: own.value, insert=terms.insert)
