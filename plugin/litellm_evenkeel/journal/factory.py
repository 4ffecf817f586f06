"""Stores as the settings say. Nothing is opened before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.settings import StoreKind
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.support.postgres import URL_HINT, is_postgres

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.journal.settings import JournalSettings
    from litellm_evenkeel.journal.store import RecordStore


def open_journal(settings: JournalSettings, settings_path: str, database: Callable[[], str]) -> Journal:
    """Return a worker's journal; `database` tells the address of LiteLLM's own when it is needed."""
    second = settings.second.kind
    if second is settings.store:
        raise SettingsError(f"{settings_path}.second: rows are in {second} already. Write none, or the other one.")
    first = _store(settings.store, settings, settings_path, database)
    return Journal(first, None if second is None else _store(second, settings, settings_path, database), settings)


def _store(kind: StoreKind, settings: JournalSettings, where: str, database: Callable[[], str]) -> RecordStore:
    if kind is StoreKind.SQLITE:
        path = Path(settings.path).absolute()
        if not path.parent.is_dir():
            raise SettingsError(f"{where}.path: there is no folder {path.parent}. Make it, or name a file elsewhere.")
        return SqliteStore(path, synchronous=settings.synchronous, busy_seconds=settings.busy)
    from litellm_evenkeel.journal.postgres import PostgresStore  # noqa: PLC0415 - a driver

    own = settings.url
    # Not to find out with the first row what is wrong with it.
    if own is None:
        database()
    elif not is_postgres(own.value):
        raise SettingsError(f"{where}.url: this is no address of a Postgres. {URL_HINT}")
    return PostgresStore(database if own is None else lambda: own.value, insert=settings.insert)
