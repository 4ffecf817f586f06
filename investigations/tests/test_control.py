"""`evenkeel control`, against the plugin's own routes over loopback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from admin_server import served

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import WRONG_USE

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served() as url:
        yield url


def run(capsys: pytest.CaptureFixture[str], server: str, *arguments: str, key: str = "admin") -> tuple[int, str, str]:
    code = cli(["control", *arguments, "--url", server, "--key", key])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return code, captured.out, captured.err


def account(server: str, name: str) -> dict[str, Any]:
    answer = httpx.get(
        f"{server}/evenkeel/accounts",
        params={"account": name},
        headers={"Authorization": "Bearer admin"},
        trust_env=False,
    )
    (document,) = answer.json()["accounts"]
    assert isinstance(document, dict)
    return document


def test_an_account_is_paused_shown_and_resumed(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, server, "pause", "south", "--for", "2h", "--reason", "key is replaced")
    assert (code, err) == (0, "")
    assert out.startswith("south: paused for 2.0h in worker process 4711, one of 4, which does not share its state")
    assert account(server, "south")["state"] == "paused"
    cli(["accounts", "--url", server, "--key", "admin", "--account", "south"])
    shown = capsys.readouterr().out
    assert "paused 2.0h" in shown
    assert "key of admin: key is replaced" in shown
    code, out, _ = run(capsys, server, "resume", "south")
    assert (code, out.partition(" in worker")[0]) == (0, "south: as in the settings")
    assert account(server, "south")["state"] == "healthy"


def test_an_account_with_any_name_is_drained(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, server, "drain", "east/west [1]", "--json")
    assert (code, json.loads(out)["controls"][0]["value"]) == (0, "draining")
    assert run(capsys, server, "resume", "east/west [1]")[0] == 0


def test_priority_and_weight_are_changed_and_taken_back(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "south: priority 2" in run(capsys, server, "priority", "south", "2")[1]
    assert "south: priority 2, weight 0.5" in run(capsys, server, "weight", "south", "0.5")[1]
    assert "south: weight 0.5" in run(capsys, server, "priority", "south", "default")[1]
    assert "south: as in the settings" in run(capsys, server, "weight", "south", "default")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pause", "norht"), "Did you mean north?"),
        (("pause", " "), "evenkeel accounts"),
        (("pause", "north", "--for", "soon"), "for=30m"),
        (("weight", "north", "much"), "a number above 0"),
        (("pause",), "ACCOUNT"),
        (("halt", "north"), "halt"),
    ],
)
def test_a_mistake_is_a_sentence_with_a_hint(
    server: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = run(capsys, server, *arguments)
    assert (code, out) == (WRONG_USE, "")
    assert words in err


@pytest.mark.parametrize("key", ["viewer", "user", "absent"])
def test_only_an_admin_may_control_accounts(server: str, capsys: pytest.CaptureFixture[str], key: str) -> None:
    code, _, err = run(capsys, server, "pause", "north", key=key)
    assert code == WRONG_USE
    assert "admin" in err
    assert account(server, "north")["controls"] == []
