"""The journal's place, as `doctor` finds it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import yaml

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.doctor import Facts, ProxyConfig, check_config
from evenkeel_lab.doctor.journal import JournalFolder
from evenkeel_lab.doctor.run_checks import facts, reachable
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

KEY = {"LITELLM_MASTER_KEY": "sk-0123456789abcdef"}


def named(written: str, rest: str = "") -> ProxyConfig:
    callbacks = "litellm_settings: {callbacks: [litellm_evenkeel.proxy.journal]}"
    return ProxyConfig(yaml.safe_load(f"{callbacks}\nevenkeel: {{journal: {{{written}}}}}\n{rest}"))


def journal(
    written: str, rest: str = "", environment: dict[str, str] = KEY, known: Facts | None = None
) -> list[tuple[str, str]]:
    found = check_config(named(written, rest), environment, known or Facts())
    return [(one.level.value, one.what) for one in found if one.check == "journal"]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("copy_to: sqlite", "in sqlite already"),
        ("store: postgres, copy_to: postgres, url: postgresql://h/d", "in postgres already"),
        ("store: postgres", "neither `url`"),
        ("copy_to: postgres", "neither `url`"),
    ],
)
def test_invalid_journal_settings_are_errors(written: str, words: str) -> None:
    ((level, what),) = journal(written)
    assert level == "error"
    assert words in what


@pytest.mark.parametrize(
    ("written", "rest", "environment"),
    [
        ("", "", {}),
        ("store: postgres, url: postgresql://h/d", "", {}),
        ("store: postgres, url: os.environ/THERE", "", {"THERE": "postgresql://h/d"}),
        ("copy_to: postgres", "", {"DATABASE_URL": "postgresql://h/d"}),
        ("copy_to: postgres", "general_settings: {database_url: 'postgresql://h/d'}", {}),
        (
            "store: postgres, url: os.environ/X, busy_timeout: os.environ/Y",
            "general_settings: {key_management_system: aws_secret_manager}",
            {},
        ),
    ],
)
def test_sound_journal_settings_are_ok(written: str, rest: str, environment: dict[str, str]) -> None:
    assert journal(written, rest, environment=KEY | environment)[0][0] == "ok"


def test_a_journal_that_is_not_loaded_is_not_checked() -> None:
    config = ProxyConfig({"evenkeel": {"journal": {"copy_to": "sqlite"}}})
    assert not [found for found in check_config(config, KEY, Facts()) if found.check == "journal"]


def test_the_folder_of_the_journal_is_checked(tmp_path: Path) -> None:
    def found(written: str) -> list[tuple[str, str]]:
        return journal(written, known=facts(named(written), KEY))

    assert found(f"path: {tmp_path}/j.db")[0][0] == "ok"
    ((level, what),) = found(f"path: {tmp_path}/nowhere/j.db")
    assert level == "error"
    assert "is not there" in what
    (tmp_path / "text.db").write_text("no database " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE x (y)")
    for taken in ("", "/text.db", "/other.db"):
        ((level, what),) = found(f"path: {tmp_path}{taken}")
        assert (level, "something else" in what) == ("error", True)
    with closing(SqliteStore(tmp_path / "kept.db")) as kept:
        kept.write([row(1)])
    assert found(f"path: {tmp_path}/kept.db")[0][0] == "ok"
    # Then no file is made.
    assert found(f"path: {tmp_path}/nowhere/j.db, store: postgres, url: postgresql://h/d")[0][0] == "ok"
    ((_, what),) = found("path: postgresql://me:sekret@h/d")
    assert "sekret" not in what


def test_a_read_only_journal_folder_is_an_error() -> None:
    ((level, what),) = journal("", known=Facts(journal_folder=JournalFolder(exists=True, is_writable=False)))
    assert level == "error"
    assert "cannot be written to" in what


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("", []),
        ("store: postgres", []),
        ("url: postgresql://u:secret@127.0.0.1:1/d", []),
        ("store: postgres, url: 'mysql://u:secret@127.0.0.1:1/d'", []),
        ("store: postgres, url: os.environ/ROWS", ["127.0.0.1:1: the connection is refused"]),
        ("copy_to: postgres, url: postgresql://u:secret@127.0.0.1:1/d", ["127.0.0.1:1: the connection is refused"]),
    ],
)
async def test_the_journals_own_postgres_is_checked(written: str, asked: list[str]) -> None:
    found = await reachable(named(written), {"ROWS": "postgresql://u:secret@127.0.0.1:1/d"})
    assert [(one.level.value, one.what) for one in found if one.check == "journal"] == [
        ("error", what) for what in asked
    ]
