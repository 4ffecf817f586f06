"""Reload of settings: all changes of a file are applied, or none."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.settings import Settings, settings
from litellm_evenkeel.wiring.reload import SettingsReloader, changes, read_configuration, resolve

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "evenkeel:\n  reload: on\n  rotation:\n    queue_timeout: 5s\n    accounts: {north: {weight: 2}}\n"


class World:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text(FIRST)
        self.applied: list[Settings] = []
        document, _ = read_configuration(path)
        self.reloader = SettingsReloader(path, settings(document["evenkeel"], {}), self.applied.append, {})

    def reload(self, text: str) -> str:
        """Reload another text, and return why it was not applied."""
        self.path.write_text(text)
        self.reloader.reload()
        return self.reloader.status.problem


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "proxy.yaml")


def test_all_changes_are_applied_together(world: World) -> None:
    text = FIRST.replace("5s", "2s").replace("weight: 2", "priority: 3") + "    strategies: {chat: fill_first}\n"
    assert world.reload(text) == ""
    (applied,) = world.applied
    assert applied.rotation.queue_timeout == 2.0
    assert applied.rotation.accounts["north"].priority == 3
    assert applied.rotation.strategies == {"chat": "fill_first"}
    assert world.reloader.status.reloads == 1


def test_a_file_without_a_change_is_not_applied(world: World) -> None:
    assert world.reload(FIRST + "# a comment\n") == ""
    assert not world.applied


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FIRST.replace("5s", "soon"), "queue_timeout"),
        (FIRST.replace("queue_timeout", "queue_timeot"), "did you mean queue_timeout"),
        (FIRST.replace("5s", "2s") + "    shared: {redis_url: 'redis://127.0.0.1'}\n", "needs a restart"),
        ("evenkeel: [", "cannot be read"),
        (FIRST + "# a day that no month has\nupdated: 2026-02-30\n", "cannot be read"),
        ("[]", "expected a mapping"),
        ("", "expected a mapping"),
    ],
)
def test_a_file_with_a_mistake_changes_nothing(
    world: World, caplog: pytest.LogCaptureFixture, text: str, words: str
) -> None:
    with caplog.at_level(logging.WARNING):
        assert words in world.reload(text)
    assert not world.applied
    assert "not applied" in caplog.text
    # The next version of the file is compared with what is in force.
    assert world.reload(FIRST.replace("5s", "2s")) == ""
    assert len(world.applied) == 1


def test_a_failing_change_is_a_problem_and_no_error(tmp_path: Path) -> None:
    def fail(_: Settings) -> None:
        raise ZeroDivisionError("broken")

    path = tmp_path / "proxy.yaml"
    path.write_text(FIRST)
    reloader = SettingsReloader(path, settings({"reload": True}, {}), fail, {})
    reloader.reload()
    assert reloader.status.problem == "broken"


async def test_a_changed_file_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio  # noqa: PLC0415

    from litellm_evenkeel.wiring import reload  # noqa: PLC0415

    monkeypatch.setattr(reload, "INTERVAL_SECONDS", 0.01)
    running = asyncio.create_task(world.reloader.run())
    await asyncio.sleep(0.05)
    assert not world.applied
    replacement = world.path.with_suffix(".new")
    replacement.write_text(FIRST.replace("5s", "2s"))
    os.replace(replacement, world.path)  # noqa: PTH105 - as Kubernetes does
    async with asyncio.timeout(5):
        while not world.applied:
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])


def test_an_included_file_replaces_the_section_of_the_main_one(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(FIRST)
    main = tmp_path / "proxy.yaml"
    main.write_text("include: [own.yaml]\nmodel_list: []\nevenkeel: {reload: off}\n")
    document, files = read_configuration(main)
    assert document["evenkeel"]["rotation"] == {"queue_timeout": "5s", "accounts": {"north": {"weight": 2}}}
    assert [path.name for path in files] == ["proxy.yaml", "own.yaml"]


def test_included_files_may_be_empty_nested_beside_the_first_file_and_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.yaml").write_text("include: [b.yaml, ../proxy.yaml]\n")
    (tmp_path / "b.yaml").write_text("")
    main = tmp_path / "proxy.yaml"
    main.write_text(f"include: [parts/a.yaml]\n{FIRST}")
    document, files = read_configuration(main)
    assert "evenkeel" in document
    assert {path.name for path in files} == {"proxy.yaml", "a.yaml", "b.yaml"}


def test_references_to_variables_are_resolved() -> None:
    names = {"a": {"b": "os.environ/NAME"}, "c": "os.environ/ABSENT", "d": 1, "e": [{"f": "os.environ/NAME"}, "g"]}
    assert resolve(names, {"NAME": "x"}) == {"a": {"b": "x"}, "c": None, "d": 1, "e": [{"f": "x"}, "g"]}


def test_changes_are_named_by_setting() -> None:
    former, wanted = settings({}, {}), settings({"rotation": {"cooldown": {"max": "10m"}}, "lean": {}}, {})
    assert changes(former, wanted) == ["rotation.cooldown.max"]
