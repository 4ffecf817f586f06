"""Errors of a proxy that does not boot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stack.litellm.config import Journal, ProxySpec
from evenkeel_lab.stack.litellm.proxy import Proxy, hint_of, last_exception, plugin_error, stop_seconds
from litellm_evenkeel.journal.settings import JournalSettings

LOG = """Traceback (most recent call last):
  File "tree.py", line 61, in read
    raise SettingsError(text)
litellm_evenkeel.errors.SettingsError: evenkeel.rotation: there is no 'strateggy'. Did you mean strategy?

ERROR:    Application startup failed. Exiting.
"""


def test_settings_that_the_plugin_refuses_are_wrong_use() -> None:
    found = plugin_error(LOG)
    assert isinstance(found, WrongUse)
    assert (found.what, found.hint) == ("evenkeel.rotation: there is no 'strateggy'.", "Did you mean strategy?")
    # The stack trace stays in the log.
    assert not found.details


@pytest.mark.parametrize(
    "log", ["", "ImportError: Could not import x from y", "a line\nOSError: address already in use"]
)
def test_errors_of_litellm_at_boot_are_not_wrong_use(log: str) -> None:
    assert plugin_error(log) is None
    assert bool(last_exception(log)) == ("Error" in log)
    assert bool(hint_of(log)) == ("Error" in log)


@pytest.mark.parametrize(
    ("kind", "settings", "file"),
    [
        (Journal.SQLITE, {}, "/home/evenkeel-journal.db"),
        (Journal.SQLITE, {"evenkeel": {"journal": {"path": "rows.db"}}}, "/home/rows.db"),
        (Journal.SQLITE, {"evenkeel": {"journal": {"path": "/kept/rows.db"}}}, "/kept/rows.db"),
        (Journal.SQLITE, {"evenkeel": {"journal": {"store": "postgres"}}}, None),
        (Journal.SQLITE, {"evenkeel": {"journal": None}}, "/home/evenkeel-journal.db"),
        (Journal.POSTGRES, {}, None),
        (Journal.POSTGRES, {"evenkeel": {"journal": {"copy_to": "sqlite"}}}, "/home/evenkeel-journal.db"),
        (Journal.OFF, {}, None),
    ],
)
def test_a_proxy_has_the_path_of_its_journal_file(kind: Journal, settings: dict[str, Any], file: str | None) -> None:
    nothing: Any = None
    spec = ProxySpec(journal=kind, settings=settings)
    proxy = Proxy(nothing, spec, "http://127.0.0.1:1", "sk-x", Path("/home/config.yaml"), nothing)
    assert proxy.journal == (Path(file) if file else None)


def test_a_proxy_with_a_journal_has_time_to_write_queued_records() -> None:
    def seconds(drain: str) -> float:
        settings = {"evenkeel": {"journal": {"drain_timeout": drain}}}
        return stop_seconds(ProxySpec(journal=Journal.SQLITE, settings=settings))

    usual = stop_seconds(ProxySpec(journal=Journal.SQLITE))
    assert usual >= stop_seconds(ProxySpec()) + JournalSettings().drain_timeout
    assert seconds("2m") - seconds("1m") == 60
    assert seconds("nonsense") == usual
