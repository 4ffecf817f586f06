"""What a session has measured, on disk: it may be killed at any moment, and goes on where it was.

session.json      what is measured, with what, on which machine
over              is there when a clock has ended it
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
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, RootModel, model_validator

from evenkeel_lab.atomic_files import parse_json, read_text, replace_text
from evenkeel_lab.errors import RigFailure, WrongUse
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.provenance import Provenance
from evenkeel_lab.runner.schedule import arms_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkeel_lab.runner.schedule import ScheduledPair

SCHEMA = 3
HEAD, WARM_UP, MEETINGS, OVER = "session.json", "warm-up.json", "meetings.jsonl", "over"
DIGITS = 12
# What may be said otherwise without anything else being asked.
WORDS: dict[str, Any] = {
    "title": True,
    "question": True,
    "hypothesis": True,
    "expected": True,
    "arms": {"__all__": {"about"}},
    "figures": {"__all__": {"about", "unit", "is_part"}},
    "ablation": {"switches": {"__all__": {"about"}}},
    # It is asked of what was measured in any case.
    "queue": True,
    "criteria": True,
}
# Of those words, what must have been there before.
BELIEVED = ("hypothesis", "expected", "criteria")


class Head(BaseModel):
    """What is measured, with what, on which machine."""

    name: str
    investigation: Investigation
    provenance: Provenance


class Line(BaseModel):
    """A meeting that came to its end."""

    meeting: str
    pair: int
    runs: list[Run]

    @model_validator(mode="after")
    def _has_a_run_of_each_arm(self) -> Self:
        if (found := sorted(run.arm for run in self.runs)) != arms_of(self.meeting):
            raise ValueError(f"{self.meeting} has no runs of {found}")
        return self


class Warmed(BaseModel):
    """How a subject was warmed up."""

    costs: list[float]
    steady: bool


class Warmth(RootModel[dict[str, Warmed]]):
    """How all of them were."""


def digest(investigation: Investigation) -> str:
    """Return what tells one investigation from another: all of it but its words."""
    told = investigation.model_dump_json(exclude=WORDS)
    return hashlib.sha256(told.encode()).hexdigest()[:DIGITS]


def refused(what: str) -> RigFailure:
    """Return the error for what is not what was written."""
    return RigFailure(what, hint="Begin anew, with --fresh.")


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
            self._lock(place)
            yield
        finally:
            os.close(place)

    def _lock(self, place: int) -> None:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WrongUse(f"{self.folder} is being measured already.", hint="Wait for its end, or stop it.") from error

    @property
    def exists(self) -> bool:
        """Whether anything has been measured here."""
        return (self.folder / HEAD).exists()

    def begin(self, name: str, investigation: Investigation, where: Provenance) -> None:
        """Write down what is going to be measured, and with what; beside that, with what the first of it was."""
        if self.exists and self.done():
            head = self.head()
            name, investigation, where = head.name, head.investigation, head.provenance.went_on(where)
        self._write_head(name, investigation, where)

    def reword(self, investigation: Investigation) -> None:
        """Keep the words that an investigation has now; but what was believed, as it was when that was measured."""
        if self.exists:
            head = self.head()
            believed = {name: getattr(head.investigation, name) for name in BELIEVED} if self.done() else {}
            self._write_head(head.name, investigation.model_copy(update=believed), head.provenance)

    def _write_head(self, name: str, investigation: Investigation, where: Provenance) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        asked = investigation.model_dump(mode="json")
        told = {"schema": SCHEMA, "name": name, "investigation": asked, "provenance": asdict(where)}
        replace_text(self.folder / HEAD, json.dumps(told, indent=1) + "\n")

    @property
    def is_over(self) -> bool:
        """Whether the time for it has been used up."""
        return (self.folder / OVER).exists()

    def end(self) -> None:
        """Know that the time for it has been used up."""
        (self.folder / OVER).touch()

    def clear(self) -> None:
        """Forget what has been measured, and first of all that it was: who is stopped here has measured nothing."""
        (self.folder / MEETINGS).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def head(self) -> Head:
        """Return what is measured."""
        path = self.folder / HEAD
        return parse_json(Head, read_text(path, refused), str(path), refused, SCHEMA)

    def warmed_up(self, told: dict[str, Any]) -> None:
        """Write down how the subjects were warmed up."""
        replace_text(self.folder / WARM_UP, json.dumps(told, indent=1) + "\n")

    def warm_up(self) -> dict[str, Any]:
        """Return how the subjects were warmed up; nothing if they were not."""
        path = self.folder / WARM_UP
        if not path.exists():
            return {}
        found = parse_json(Warmth, read_text(path, refused), str(path), refused).root
        return {name: one.model_dump() for name, one in found.items()}

    def done(self) -> dict[str, list[Run]]:
        """Return the runs of each meeting that came to its end, by its name."""
        path = self.folder / MEETINGS
        if not path.exists():
            return {}
        # What follows the last whole line is torn.
        *lines, _ = read_text(path, refused).split("\n")
        found = (
            parse_json(Line, line, f"{path}, line {number},", refused) for number, line in enumerate(lines, 1) if line
        )
        return {one.meeting: one.runs for one in found}

    def place(self, meeting: ScheduledPair, arm: str) -> Path:
        """Return an empty place for the records of a run: what a killed session has left there is no run."""
        folder = self.folder / meeting.name / arm
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def add(self, meeting: ScheduledPair, runs: Sequence[Run]) -> None:
        """Write down a meeting that has come to its end."""
        told = {"meeting": meeting.name, "pair": meeting.pair, "runs": [one.document() for one in runs]}
        self._cut_torn_line()
        with (self.folder / MEETINGS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(told, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _cut_torn_line(self) -> None:
        path = self.folder / MEETINGS
        if path.exists():
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if whole != content:
                path.write_bytes(whole)
