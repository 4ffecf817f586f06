"""The command as a user meets it: its words, its exit codes, no stack trace."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from rich.text import Text

from evenkeel_lab.cli import cli
from evenkeel_lab.errors import RIG_INVALID, WRONG_USE
from evenkeel_lab.stack.ports import LOOPBACK
from litellm_evenkeel.settings import tables

EVENKEEL = [sys.executable, "-m", "evenkeel_lab"]


def failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli(list(arguments))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return code, captured.err


def test_the_cache_is_listed_and_removed(own_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_cache / "subjects" / "litellm-1.108.7").mkdir(parents=True)
    (own_cache / "of another program").mkdir()
    assert cli(["cache"]) == 0
    assert capsys.readouterr().out == f"{own_cache / 'subjects'}\n"
    assert cli(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"{own_cache} is empty now.\n"
    assert not (own_cache / "subjects").exists()
    assert (own_cache / "of another program").exists()


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["--version"]) == 0
    assert cli(["--help"]) == 0
    assert "doctor" in capsys.readouterr().out


def test_commands_complete_in_a_shell() -> None:
    environ = {**os.environ, "_EVENKEEL_COMPLETE": "bash_complete", "COMP_WORDS": "evenkeel acc", "COMP_CWORD": "1"}
    answer = subprocess.run(EVENKEEL, env=environ, capture_output=True, text=True, check=False)
    assert answer.stdout.split() == ["plain,accounts"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sail"], "No such command"),
        (["explian"], "No such command 'explian'. Did you mean explain?"),
        (["up", "--workers", "0"], "--workers"),
        (["up", "--prometheus", "loud"], "--prometheus"),
        (["up", "--rotation", "fast"], "--rotation"),
        (["up", "--accounts", "0"], "--accounts"),
        (["part", "explode", "valkey"], "'explode' is not one of"),
        (["part", "kill"], "Missing argument 'PART'"),
        (["part", "kill", "valkey", "--stack", "/no/such/folder"], "does not exist"),
        (["bench", "mock", "--part", "timeline"], "need the name of a benchmark with proxies: failover"),
        (["bench", "--litellm", "1.106.2"], "need the name of a benchmark with proxies: failover"),
        (["bench", "failover", "--part", "timline"], "Did you mean timeline?"),
        (["bench", "failover", "--litellm", "1.82.7"], "compromised"),
        (["up", "--litellm", "1.82.7"], "compromised"),
        (["up", "--litellm", "newest"], "is not a LiteLLM version"),
        (["up", "--settings", "/no/such/file"], "does not exist"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = failing(capsys, *arguments)
    assert code == WRONG_USE
    assert words in said


@pytest.mark.parametrize("text", ["- a\n- list\n", "{unclosed", "\x00"])
def test_settings_that_are_none_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    code, said = failing(capsys, "up", "--settings", str(tmp_path / "settings.yaml"))
    assert code == WRONG_USE
    assert "hint" in said


def test_a_port_in_use_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        start = time.monotonic()
        code, said = failing(capsys, "up", "--port", str(port))
        assert time.monotonic() - start < 5
    assert code == WRONG_USE
    assert f"Port {port} is in use" in said


def test_a_database_of_the_users_own_that_is_away_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hush@127.0.0.1:9/db")
    code, said = failing(capsys, "up")
    assert code == RIG_INVALID
    assert "127.0.0.1:9/db" in said
    assert "hush" not in said


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "garbage"),
        ("DATABASE_URL", "mysql://u:hush@h/db"),
        ("DATABASE_URL", "postgresql://u:hu/sh@h/db"),
        ("DATABASE_URL", "postgresql://u:hush@h:port/db"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "http://h"),
        ("REDIS_URL", "redis://:hu#sh@h"),
        ("REDIS_URL", "redis://:hush@h:port/0"),
    ],
)
def test_an_address_that_is_none_is_the_users_mistake(
    variable: str, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    code, said = failing(capsys, "up")
    assert code == WRONG_USE
    assert variable in said
    assert "sh@" not in said
    assert "hush" not in said


def test_proxy_variables_do_not_concern_what_is_on_loopback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:9")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u@127.0.0.1:9/db")
    code, said = failing(capsys, "up")
    assert code == RIG_INVALID
    assert "127.0.0.1:9/db" in said


def test_without_the_lab_the_command_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['click'] = None\nfrom evenkeel_lab.__main__ import main\nsys.exit(main())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == WRONG_USE
    assert "pip install 'litellm-evenkeel[lab]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_settings_are_markdown_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["settings"]) == 0
    assert "| `rotation.strategy` | `headroom` |" in capsys.readouterr().out


def test_settings_fit_a_terminal_of_80_columns_with_their_full_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert cli(["settings"]) == 0
    lines = Text.from_ansi(capsys.readouterr().out).plain.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith("|") for line in lines)
    names = [row.split("`")[1] for table in tables().values() for row in table.splitlines()[2:]]
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == names


def listening(ports: set[int]) -> set[int]:
    return ports & {c.laddr.port for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN}


def living(pids: set[int]) -> set[int]:
    found = set()
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.add(pid)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_whatever_ends_up_leaves_no_process_no_port_and_no_folder(number: signal.Signals) -> None:
    with subprocess.Popen([*EVENKEEL, "up", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as up:
        assert up.stdout is not None
        told = json.loads(up.stdout.readline())
        family = {process.pid for process in psutil.Process(up.pid).children(recursive=True)}
        family |= {part["pid"] for part in told["parts"]}
        ports = {int(part["address"].rpartition(":")[2]) for part in told["parts"]}
        folder = Path(told["config"]).parents[1]
        assert listening(ports) == ports
        up.send_signal(number)
        code = up.wait(timeout=20)
        deadline = time.monotonic() + 30
    while (listening(ports) or living(family) or folder.exists()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (listening(ports), living(family), folder.exists()) == (set(), set(), False)
    assert code == (0 if number == signal.SIGINT else -signal.SIGKILL)
