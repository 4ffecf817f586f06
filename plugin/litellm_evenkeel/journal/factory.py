"""Construction of the journal and its stores from the settings. A store is opened by its first write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.settings import StoreKind
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.journal.actions import ActionStore
    from litellm_evenkeel.journal.postgres import PostgresStore
    from litellm_evenkeel.journal.settings import JournalSettings


def open_journal(settings: JournalSettings, settings_path: str, database: Callable[[], str]) -> Journal:
    """Return a worker's journal. `database` returns the address of LiteLLM's own database when it is needed."""
    second = settings.copy_to.kind
    if second is settings.store:
        raise SettingsError(
            f"{settings_path}.copy_to: expected a store other than {settings_path}.store, got {second} for both. "
            f"Hint: write none, or the other store."
        )
    first = _store(settings.store, settings, settings_path, database)
    return Journal(first, None if second is None else _store(second, settings, settings_path, database), settings)


def open_action_store(settings: JournalSettings, settings_path: str, database: Callable[[], str]) -> ActionStore:
    """Return a store for operators' actions, beside the journal's own, which belongs to the writer's thread."""
    return _store(settings.store, settings, settings_path, database)


def _store(
    kind: StoreKind, settings: JournalSettings, settings_path: str, database: Callable[[], str]
) -> SqliteStore | PostgresStore:
    if kind is StoreKind.SQLITE:
        path = Path(settings.path).absolute()
        if not path.parent.is_dir():
            raise SettingsError(
                f"{settings_path}.path: expected a file in a folder that exists, got {path}. "
                f"Hint: create the folder {path.parent}, or write the path of a file elsewhere."
            )
        return SqliteStore(path, synchronous=settings.synchronous, busy_seconds=settings.busy_timeout)
    from litellm_evenkeel.journal.postgres import PostgresStore  # noqa: PLC0415 - a driver

    # Check the address at the start. Otherwise a wrong one would only show with the first record.
    if settings.url.is_litellm:
        database()
        return PostgresStore(database)
    return PostgresStore(settings.url.get_secret_value)
