"""The tutorial about two accounts, command by command, as a reader types it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documented_examples import blocks

from evenkeel_lab.stack.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from documented_examples import Block

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PAGE = "docs/tutorial_accounts.md"
STOP_SECONDS = 60
COMMANDS = Path(sys.executable).parent


class Terminal:
    """A shell whose variables stay from one command to the next."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variables = dict(os.environ) | {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "160"}

    def run(self, command: str) -> str:
        """Run a command, and return what it printed."""
        separator = "-- variables --"
        script = f"set -e\n{command}\necho; echo '{separator}'; env -0"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self._folder, env=self._variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        printed, _, variables = done.stdout.partition(f"{separator}\n")
        self._variables = dict(entry.split("=", 1) for entry in variables.split("\0") if "=" in entry)
        return printed


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Run the tutorial's first command, at a free port. Yield its port, and what it printed until it was ready."""
    (command,) = next(blocks_of_page()).commands
    port = str(free_port())
    words = command.replace("4000", port).split()
    words[0] = str(COMMANDS / words[0])
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        printed = ""
        for line in running.stdout:
            printed += line
            if "chat/completions" in line:
                break
        yield port, printed
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=STOP_SECONDS)
    assert running.returncode in {0, 130}
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0


def blocks_of_page() -> Iterator[Block]:
    return (block for block in blocks("console") if block.page == PAGE)


def test_the_tutorial_about_accounts_does_what_it_says(stack: tuple[str, str], tmp_path: Path) -> None:
    port, printed = stack
    key = re.search(r"sk-[\w-]{16,}", printed)
    mock = re.search(r"^.*\bmock\b.*?(http://127\.0\.0\.1:\d+)", printed, re.MULTILINE)
    journal = re.search(r"(/\S+\.(?:db|sqlite))", printed)
    assert key
    assert mock
    assert journal
    terminal = Terminal(tmp_path)
    _, variables, requests, revoke, look, repair, tail = (block.commands for block in blocks_of_page())
    values = {"http://127.0.0.1:4000": f"http://127.0.0.1:{port}", "sk-...": key[0], "http://127.0.0.1:...": mock[1]}
    for command, (placeholder, value) in zip(variables, values.items(), strict=True):
        assert placeholder in command
        terminal.run(command.replace(placeholder, value))
    ask, accounts = requests
    assert terminal.run(ask).split() == ["200"] * 8
    assert "account-1" in terminal.run(accounts)
    terminal.run(revoke[0])
    assert terminal.run(ask).split() == ["200"] * 8
    assert "quarantined" in terminal.run(look[0])
    assert "account-1" in terminal.run(look[1])
    for command in repair:
        last = terminal.run(command)
    assert "quarantined" not in last
    assert terminal.run(tail[0].replace("PATH", journal[1])).count("account-") >= 16
