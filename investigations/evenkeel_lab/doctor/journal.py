"""Where the journal is named: whether there is a place for its rows."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.callbacks import JOURNAL
from evenkeel_lab.doctor.config_file import reference
from evenkeel_lab.doctor.finding import Finding, error, ok
from evenkeel_lab.doctor.plugin_section import understood
from evenkeel_lab.doctor.stores import database_url
from litellm_evenkeel.journal.settings import StoreKind
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.store import JournalMissing
from litellm_evenkeel.settings import SECTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.doctor.config_file import ProxyConfig
    from litellm_evenkeel.journal.settings import JournalSettings

CHECK = "journal"
WHERE = (SECTION, "journal")


@dataclass(frozen=True)
class Folder:
    """In what the file of SQLite is, or would be made. What is written as a path may be an address, with a password."""

    is_there: bool
    is_writable: bool
    is_taken: bool = False
    """Whether `path` itself is something else: a folder, or a file that is no journal."""


def journal_folder(config: ProxyConfig, environment: Mapping[str, str]) -> Folder | None:
    """Look it up, if rows go to a file; a path is one of the folder in which this runs, as it is for the proxy."""
    told = understood(config, environment, JOURNAL)
    if told is None or StoreKind.SQLITE not in _kinds(told.journal):
        return None
    path = Path(told.journal.path).absolute().parent
    # Not the path's own method, which raises for a name that is too long.
    is_there = os.path.isdir(path)  # noqa: PTH112
    return Folder(is_there, is_there and os.access(path, os.W_OK | os.X_OK), _is_taken(Path(told.journal.path)))


def _is_taken(path: Path) -> bool:
    # Not the paths' own methods, which raise for a name that is too long.
    if os.path.isdir(path):  # noqa: PTH112
        return True
    if not os.path.isfile(path) or not os.path.getsize(path):  # noqa: PTH113, PTH202
        return False
    with closing(SqliteStore(path, create=False)) as store:
        try:
            store.latest()
        except (JournalMissing, sqlite3.DatabaseError) as error:
            # One that is locked, or not for us to read, may be anything.
            return isinstance(error, JournalMissing) or getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
    return False


def journal_database(config: ProxyConfig, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the address of a Postgres of the journal's own, and where it is written; LiteLLM's is asked anyway."""
    told = understood(config, environment, JOURNAL)
    if told is None or told.journal.url.is_litellm or StoreKind.POSTGRES not in _kinds(told.journal):
        return None
    return told.journal.url.get_secret_value(), config.where(*WHERE, "url")


def journal(config: ProxyConfig, environment: Mapping[str, str], folder: Folder | None) -> list[Finding]:
    """Check it."""
    told = understood(config, environment, JOURNAL)
    if told is None:
        return []
    kinds = _kinds(told.journal)
    found = [*_second(config, told.journal), *_file(config, folder), *_address(config, environment, told.journal)]
    return found or [ok(CHECK, f"rows go to {' and '.join(kinds)}", config.where(*WHERE))]


def _second(config: ProxyConfig, settings: JournalSettings) -> Iterator[Finding]:
    if settings.copy_to.kind is settings.store:
        yield error(
            CHECK,
            f"`copy_to: {settings.copy_to}`: rows are in {settings.store} already, and the proxy would not start",
            config.where(*WHERE, "copy_to"),
            hint="Write none, or the other one.",
        )


def _file(config: ProxyConfig, folder: Folder | None) -> Iterator[Finding]:
    where = config.where(*WHERE, "path")
    if folder is None:
        return
    if not folder.is_there:
        yield error(
            CHECK,
            "the folder of `path` is not there: the proxy would not start",
            where,
            hint="Make it, or name a file elsewhere: a path is one of the folder that the proxy is started in.",
        )
    elif folder.is_taken:
        yield error(
            CHECK,
            "`path` is a folder, or a file of something else: no row would be written",
            where,
            hint="Name a file of its own, which is made if it is not there.",
        )
    elif not folder.is_writable:
        yield error(
            CHECK,
            "the folder of `path` cannot be written to: rows would wait, and then be dropped",
            where,
            hint="Let the proxy's user write there, or name a file elsewhere.",
        )


def _address(config: ProxyConfig, environment: Mapping[str, str], settings: JournalSettings) -> Iterator[Finding]:
    if StoreKind.POSTGRES not in _kinds(settings):
        return
    if not settings.url.is_litellm or database_url(config, environment)[0]:
        return
    general = config.section("general_settings")
    if general.get("key_management_system") and any(map(reference, (_url(config), general.get("database_url")))):
        # It is read from a secret manager, which is not asked here.
        return
    yield error(
        CHECK,
        "rows go to Postgres, and neither `url` nor LiteLLM's database is an address: the proxy would not start",
        config.where(*WHERE, "url"),
        hint="Write `evenkeel: {journal: {url: os.environ/NAME}}`, or set DATABASE_URL.",
    )


def _url(config: ProxyConfig) -> object:
    """Return what is written as the journal's own address."""
    told = config.section(SECTION).get("journal")
    return told.get("url") if isinstance(told, Mapping) else None


def _kinds(settings: JournalSettings) -> list[StoreKind]:
    """Return what keeps rows."""
    return list(dict.fromkeys(kind for kind in (settings.store, settings.copy_to.kind) if kind is not None))
