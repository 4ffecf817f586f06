"""What a session has measured, on disk: it may be killed at any moment, and goes on where it was.

session.json      what is measured, with what, on which machine
warm-up.json      how fast each subject was, window after window, before its first run
meetings.jsonl    a line for each meeting that came to its end
MEETING/ARM/      the records of each run
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import RigFailure, WrongUse
from evenkeel_lab.session.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkeel_lab.session.meetings import Meeting
    from evenkeel_lab.session.provenance import Provenance

SCHEMA = 1
HEAD, WARM_UP, MEETINGS = "session.json", "warm-up.json", "meetings.jsonl"
DIGITS = 12


def digest(text: str) -> str:
    """Return what tells one investigation from a changed one."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


class Store:
    """The folder of one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Be the only one that measures here."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise WrongUse(f"{self.folder} is being measured already.", cure="Wait for its end, or stop it.") from error
        finally:
            os.close(place)

    @property
    def exists(self) -> bool:
        """Whether anything has been measured here."""
        return (self.folder / HEAD).exists()

    def begin(self, name: str, text: str, where: Provenance) -> None:
        """Write down what is going to be measured, unless that was done before."""
        if self.exists:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"schema": SCHEMA, "name": name, "investigation": text, "provenance": asdict(where)}
        _write(self.folder / HEAD, json.dumps(told, indent=1) + "\n")

    def clear(self) -> None:
        """Forget what has been measured."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def head(self) -> dict[str, Any]:
        """Return what is measured."""
        path = self.folder / HEAD
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RigFailure(f"{path} cannot be read: {error}.", cure="Begin anew with --fresh.") from error
        if found.get("schema") != SCHEMA:
            raise RigFailure(
                f"{path} is of schema {found.get('schema')}, this evenkeel reads {SCHEMA}.", cure="Begin anew, --fresh."
            )
        return found

    def warmed_up(self, told: dict[str, Any]) -> None:
        """Write down how the subjects were warmed up."""
        _write(self.folder / WARM_UP, json.dumps(told, indent=1) + "\n")

    def warm_up(self) -> dict[str, Any]:
        """Return how the subjects were warmed up; nothing if they were not."""
        path = self.folder / WARM_UP
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def done(self) -> dict[str, list[Run]]:
        """Return the runs of each meeting that came to its end, by its name."""
        path = self.folder / MEETINGS
        if not path.exists():
            return {}
        found: dict[str, list[Run]] = {}
        *lines, torn = path.read_text(encoding="utf-8").split("\n")
        del torn  # what follows the last whole line
        for number, line in enumerate(lines, 1):
            try:
                told = json.loads(line)
                found[told["meeting"]] = [Run.of(one) for one in told["runs"]]
            except (ValueError, KeyError, TypeError) as error:
                raise RigFailure(
                    f"{path}, line {number}, is not what was written.", cure="Begin anew, --fresh."
                ) from error
        return found

    def place(self, meeting: Meeting, arm: str) -> Path:
        """Return an empty place for the records of a run: what a killed session has left there is no run."""
        folder = self.folder / meeting.name / arm
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def add(self, meeting: Meeting, runs: Sequence[Run]) -> None:
        """Write down a meeting that has come to its end."""
        told = {"meeting": meeting.name, "pair": meeting.pair, "runs": [one.document() for one in runs]}
        self._cut_torn_line()
        with (self.folder / MEETINGS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _cut_torn_line(self) -> None:
        path = self.folder / MEETINGS
        if path.exists():
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if whole != content:
                path.write_bytes(whole)


def _write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
