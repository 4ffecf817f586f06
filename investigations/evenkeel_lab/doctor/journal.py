"""Checks of the journal: its file or database can store records."""

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
from evenkeel_lab.doctor.plugin_section import plugin_settings
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
class JournalFolder:
    """State of the folder of the SQLite file. It leaves out the path, which may be an address with a password."""

    exists: bool
    is_writable: bool
    is_taken: bool = False
    """Whether `path` is a folder, or a file that is not a journal."""


def journal_folder(config: ProxyConfig, environment: Mapping[str, str]) -> JournalFolder | None:
    """Return the state of the journal's folder, or `None` if the journal has no file.

    A relative path is relative to the working directory, as it is for the proxy.
    """
    settings = plugin_settings(config, environment, JOURNAL)
    if settings is None or StoreKind.SQLITE not in _kinds(settings.journal):
        return None
    path = Path(settings.journal.path).absolute().parent
    # Not the path's own method, which raises for a name that is too long.
    exists = os.path.isdir(path)  # noqa: PTH112
    return JournalFolder(exists, exists and os.access(path, os.W_OK | os.X_OK), _is_taken(Path(settings.journal.path)))


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
            # A file that is locked or not readable may be a journal.
            return isinstance(error, JournalMissing) or getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
    return False


def journal_database(config: ProxyConfig, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the URL of the journal's own Postgres and its line, or `None` if it uses LiteLLM's or none."""
    settings = plugin_settings(config, environment, JOURNAL)
    if settings is None or settings.journal.url.is_litellm or StoreKind.POSTGRES not in _kinds(settings.journal):
        return None
    return settings.journal.url.get_secret_value(), config.where(*WHERE, "url")


def journal(config: ProxyConfig, environment: Mapping[str, str], folder: JournalFolder | None) -> list[Finding]:
    """Check the stores of the journal."""
    settings = plugin_settings(config, environment, JOURNAL)
    if settings is None:
        return []
    kinds = _kinds(settings.journal)
    findings = [
        *_second(config, settings.journal),
        *_file(config, folder),
        *_address(config, environment, settings.journal),
    ]
    return findings or [ok(CHECK, f"rows go to {' and '.join(kinds)}", config.where(*WHERE))]


def _second(config: ProxyConfig, settings: JournalSettings) -> Iterator[Finding]:
    if settings.copy_to.kind is settings.store:
        yield error(
            CHECK,
            f"`copy_to: {settings.copy_to}`: rows are in {settings.store} already, and the proxy would not start",
            config.where(*WHERE, "copy_to"),
            hint="Write none, or the other one.",
        )


def _file(config: ProxyConfig, folder: JournalFolder | None) -> Iterator[Finding]:
    where = config.where(*WHERE, "path")
    if folder is None:
        return
    if not folder.exists:
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
        # The proxy reads the address from a secret manager, which the doctor does not use.
        return
    yield error(
        CHECK,
        "rows go to Postgres, and neither `url` nor LiteLLM's database is an address: the proxy would not start",
        config.where(*WHERE, "url"),
        hint="Write `evenkeel: {journal: {url: os.environ/NAME}}`, or set DATABASE_URL.",
    )


def _url(config: ProxyConfig) -> object:
    """Return `journal.url` as it is in the configuration."""
    section = config.section(SECTION).get("journal")
    return section.get("url") if isinstance(section, Mapping) else None


def _kinds(settings: JournalSettings) -> list[StoreKind]:
    """Return the kinds of the journal's stores, without duplicates."""
    return list(dict.fromkeys(kind for kind in (settings.store, settings.copy_to.kind) if kind is not None))
