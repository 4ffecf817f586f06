"""`evenkeel accounts` and `evenkeel explain`, against the plugin's own routes over loopback."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest
from admin_server import served
from rich.console import Console

from evenkeel_lab.cli import cli
from evenkeel_lab.cli.accounts.table import page
from evenkeel_lab.errors import RIG_INVALID, WRONG_USE
from evenkeel_lab.stack.ports import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LITELLM_PROXY_URL", "LITELLM_PROXY_API_KEY", "LITELLM_MASTER_KEY"):
        monkeypatch.delenv(name, raising=False)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli(list(arguments))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return code, captured.out, captured.err


def asked(server: str, key: str, method: str = "GET", path: str = "/accounts", **options: Any) -> httpx.Response:
    return httpx.request(
        method, f"{server}/evenkeel{path}", headers={"Authorization": f"Bearer {key}"}, trust_env=False, **options
    )


def test_accounts_are_shown_as_a_table(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "accounts", "--url", server, "--key", "admin")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["account", "state"]
    # The gravest first.
    assert lines[1].startswith("north")
    assert "cooling 60m" in lines[1] or "cooling 1.0h" in lines[1]
    assert "out of quota" in lines[1]
    assert any(line.startswith("east/west [1]") for line in lines)
    assert lines[-1].startswith("3 of 3 accounts · worker process 4711, one of 4")


def test_accounts_as_json_are_what_the_proxy_said(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(
        capsys, "accounts", "--url", server + "/", "--key", "admin", "--json", "--state", "cooling_down"
    )
    told = json.loads(out)
    assert code == 0
    assert [one["account"] for one in told["accounts"]] == ["north"]
    assert "sk-secret" not in out


def test_an_account_can_be_named(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("accounts", "--url", server, "--key", "viewer", "--account", "north", "--account", "south", "--json")
    assert [one["account"] for one in json.loads(said(capsys, *arguments)[1])["accounts"]] == ["north", "south"]
    code, _, err = said(capsys, "accounts", "--url", server, "--key", "admin", "--account", "norht")
    assert code == WRONG_USE
    assert "Did you mean north?" in err


def test_no_more_are_shown_than_are_wanted(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "accounts", "--url", server, "--key", "admin", "--limit", "2")
    assert (code, out.splitlines()[-1].split(" · ")[0]) == (0, "2 of 3 accounts")
    code, _, err = said(capsys, "accounts", "--url", server, "--key", "admin", "--limit", "0")
    assert code == WRONG_USE
    assert "--limit" in err


def test_an_account_can_be_released(capsys: pytest.CaptureFixture[str]) -> None:
    # One of its own: what is released cools down no more.
    with served() as server:
        where = ("--url", server, "--key", "admin")
        code, out, err = said(capsys, "accounts", *where, "--release", "north")
        assert (code, err) == (0, "")
        assert "north is released" in out
        assert "4711, one of 4" in out
        told = json.loads(said(capsys, "accounts", *where, "--account", "north", "--json")[1])
        assert told["accounts"][0]["state"] in {"healthy", "ramping_up"}
        code, out, _ = said(capsys, "accounts", *where, "--release", "east/west [1]", "--json")
        assert (code, json.loads(out)["released"]) == (0, "east/west [1]")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--key", "admin", "--release", "norht"), "Did you mean north?"),
        (("--key", "viewer", "--release", "north"), "not an admin's"),
        (("--key", "admin", "--release", " "), "evenkeel accounts lists"),
        (("--key", "admin", "--release", "north", "--watch"), "--release"),
    ],
)
def test_a_release_that_cannot_be_says_why(
    server: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = said(capsys, "accounts", "--url", server, *arguments)
    assert (code, out) == (WRONG_USE, "")
    assert words in err


def test_the_environment_says_which_proxy_and_key(
    server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITELLM_PROXY_URL", server)
    monkeypatch.setenv("LITELLM_MASTER_KEY", "admin")
    assert said(capsys, "accounts")[0] == 0
    monkeypatch.setenv("LITELLM_PROXY_API_KEY", "user")
    assert said(capsys, "accounts")[0] == WRONG_USE


@pytest.mark.parametrize("command", [("accounts",), ("explain", "chat")])
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--key", "user"), WRONG_USE, "not an admin's"),
        (("--key", "absent"), WRONG_USE, "refuses the key"),
        ((), WRONG_USE, "requires a key"),
    ],
)
def test_a_key_that_is_no_admins_is_refused_with_a_cure(
    server: str,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    found, out, err = said(capsys, *command, "--url", server, *arguments)
    assert (found, out) == (code, "")
    assert words in err
    assert "LITELLM_PROXY_API_KEY" in err


@pytest.mark.parametrize("key", ["hush\r", "h\nush", "hüsh"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(capsys: pytest.CaptureFixture[str], key: str) -> None:
    code, _, err = said(capsys, "accounts", "--key", key)
    assert code == WRONG_USE
    assert "ush" not in err


def test_a_proxy_that_is_away_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        url = f"http://{LOOPBACK}:{free.getsockname()[1]}"
    code, _, err = said(capsys, "accounts", "--url", url, "--key", "admin")
    assert code == RIG_INVALID
    assert url in err
    assert "--url" in err


@pytest.mark.parametrize("url", ["nonsense", "http://me:hush@127.0.0.1:1", "http://127.0.0.1:1?x=y"])
def test_an_address_that_is_none_is_wrong_use(capsys: pytest.CaptureFixture[str], url: str) -> None:
    code, _, err = said(capsys, "accounts", "--url", url)
    assert code == WRONG_USE
    assert "hush" not in err


class Stock(http.server.BaseHTTPRequestHandler):
    """Something else that speaks HTTP."""

    answer: tuple[int, bytes] = (404, b'{"detail":"Not Found"}')

    def do_GET(self) -> None:
        self.send_response(self.answer[0])
        self.end_headers()
        self.wfile.write(self.answer[1])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - so it is called
        pass


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ((404, b'{"detail":"Not Found"}'), WRONG_USE, "litellm_evenkeel.proxy.rotation"),
        ((200, b"<html>hello</html>"), WRONG_USE, "litellm_evenkeel.proxy.rotation"),
        ((302, b""), WRONG_USE, "litellm_evenkeel.proxy.rotation"),
        ((200, b"[1]"), WRONG_USE, "litellm_evenkeel.proxy.rotation"),
        ((400, b'{"error":{"message":"No connected db."}}'), WRONG_USE, "no database"),
        ((500, b"broken"), RIG_INVALID, "answered 500"),
    ],
)
def test_what_is_no_proxy_with_the_plugin_is_told(
    capsys: pytest.CaptureFixture[str], answer: tuple[int, bytes], code: int, words: str
) -> None:
    handler = type("Handler", (Stock,), {"answer": answer})
    with http.server.HTTPServer((LOOPBACK, 0), handler) as one:
        thread = threading.Thread(target=one.serve_forever, daemon=True)
        thread.start()
        found, _, err = said(capsys, "accounts", "--url", f"http://{LOOPBACK}:{one.server_port}", "--key", "admin")
        one.shutdown()
        thread.join()
    assert found == code
    assert words in err


def test_an_explanation_says_who_and_what_the_others_lack(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "explain", "chat", "--url", server, "--key", "admin", "--tokens", "1200")
    assert all(line == line.rstrip() for line in out.splitlines())
    assert code == 0
    assert "north: its cooldown ends in" in out
    assert "headroom · 1,200 tokens" in out
    code, out, _ = said(capsys, "explain", "chat", "--url", server, "--key", "admin", "--top", "1")
    assert "and 2 more" in out


def test_an_explanation_as_json_has_all_candidates(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--session", "s", "--excluded", "south", "--stream", "--top", "1", "--json")
    code, out, _ = said(capsys, "explain", "chat", "--url", server, "--key", "admin", *arguments)
    told = json.loads(out)
    assert (code, len(told["candidates"]), told["request"]["excluded"]) == (0, 3, ["id-south"])
    assert (told["request"]["stream"], told["session"]) == (True, {"pinned_to": None, "decision": None})


def test_a_model_that_nobody_knows_is_wrong_use(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "explain", "chatt", "--url", server, "--key", "admin")
    assert code == WRONG_USE
    assert "Did you mean chat?" in err


def test_watch_and_json_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "accounts", "--watch", "--json")[0] == WRONG_USE


def read_until(stream: int, words: bytes, seconds: float = 20.0) -> bytes:
    found, end = b"", time.monotonic() + seconds
    while words not in found and time.monotonic() < end:
        if select.select([stream], [], [], 0.2)[0]:
            with contextlib.suppress(OSError):
                found += os.read(stream, 65_536)
    return found


@pytest.mark.parametrize("on_terminal", [True, False])
def test_watching_redraws_and_ends_cleanly_on_ctrl_c(server: str, *, on_terminal: bool) -> None:
    ours, theirs = pty.openpty() if on_terminal else os.pipe()
    command = [sys.executable, "-m", "evenkeel_lab", "accounts", "--watch", "--every", "0.2", "--url", server]
    environ = {**os.environ, "LITELLM_PROXY_API_KEY": "admin", "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environ) as process:
        os.close(theirs)
        found = read_until(ours, b"worker process 4711")
        found += read_until(ours, b"worker process 4711")
        process.send_signal(signal.SIGINT)
        # A pipe without a reader would block it.
        threading.Thread(target=read_until, args=(ours, b"never", 5.0), daemon=True).start()
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == b""
    assert found.count(b"worker process 4711") >= 2
    assert (b"\x1b[" in found) == on_terminal


def test_keys_select_and_pause_an_account_and_quit() -> None:
    ours, theirs = pty.openpty()
    environ = {**os.environ, "LITELLM_PROXY_API_KEY": "admin", "COLUMNS": "100", "LINES": "24", "TERM": "xterm"}
    with served() as server:
        command = [sys.executable, "-m", "evenkeel_lab", "accounts", "--watch", "--every", "0.5", "--url", server]
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environ) as process:
            os.close(theirs)
            read_until(ours, b"q quit")
            # At once, as they come from a held key.
            os.write(ours, b"\x1b[Bp")
            assert b"pause north?" in read_until(ours, b"pause north?")
            os.write(ours, b"y")
            assert b"pause north: done" in read_until(ours, b"pause north: done")
            os.write(ours, b"q")
            threading.Thread(target=read_until, args=(ours, b"never", 5.0), daemon=True).start()
            _, err = process.communicate(timeout=20)
        states = {account["account"]: account["state"] for account in asked(server, "admin").json()["accounts"]}
    assert (process.returncode, err) == (0, b"")
    assert states["north"] == "paused"


def test_the_table_fits_a_terminal_of_80_columns(server: str) -> None:
    document = asked(server, "admin").json()
    document["accounts"][0]["account"] = "a-very-long-name-of-an-account-in-some-region"
    console = Console(width=80, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    with console.file:
        console.print(page(document, 80))
        lines = console.export_text().splitlines()
    assert all(len(line) <= 80 for line in lines)
    for word in ("state", "limit", "left", "picks"):
        assert word in lines[0]


def test_only_admins_may_look_and_only_full_ones_may_act(server: str) -> None:
    paths = [("GET", "/accounts"), ("GET", "/explain?model=chat"), ("GET", "/metrics")]
    for key, status in (("absent", 401), ("user", 403), ("viewer", 200), ("admin", 200)):
        assert [asked(server, key, *one).status_code for one in paths] == [status] * 3
    release = ("POST", "/accounts/east/west [1]/release")
    for key, status in (("absent", 401), ("user", 403), ("viewer", 403), ("admin", 200)):
        assert asked(server, key, *release).status_code == status
    assert asked(server, "admin", "POST", "/accounts/absent/release").status_code == 404


@pytest.mark.parametrize("name", ["a/release", "two\nlines", "ends in one\n", "what? 100 % #1"])
def test_an_account_of_any_name_can_be_released(server: str, name: str) -> None:
    answer = asked(server, "admin", "POST", f"/accounts/{quote(name)}/release")
    assert answer.status_code == 404
    # There is no such account, but the name arrived.
    assert repr(name) in answer.json()["detail"]["error"]


def test_a_question_may_be_posted_as_json(server: str) -> None:
    told = asked(server, "admin", "POST", "/explain", json={"model": "chat", "tokens": 5, "excluded": ["north"]}).json()
    assert told["request"] | {"dollars": 0} == {
        "tokens": 5,
        "dollars": 0,
        "excluded": ["id-north"],
        "pinned_to": None,
        "fallback_account": None,
        "stream": False,
    }
    for body in (b"[1]", b"{", b"\xff", b"x" * 200_000):
        answer = asked(server, "admin", "POST", "/explain", content=body)
        assert answer.status_code == 400
        assert answer.json()["detail"]["hint"]


def test_metrics_are_text(server: str) -> None:
    answer = asked(server, "admin", path="/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "evenkeel_rotation_picks_total" in answer.text
