"""The files of a session, which may be killed at any time and resumed later.

session.json      the investigation and the provenance
over              exists once the time limit has ended the session
warm-up.json      costs of each subject in the windows of its warm-up
pairs.jsonl       a line for each scheduled pair that is done
PAIR/ARM/         the records of each run; PAIR is the name of the scheduled pair
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
from evenkeel_lab.investigation_spec.investigation import Gates
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.provenance import Provenance
from evenkeel_lab.runner.schedule import arms_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkeel_lab.runner.schedule import ScheduledPair

SCHEMA = 4
HEAD, WARM_UP, PAIRS, OVER = "session.json", "warm-up.json", "pairs.jsonl", "over"
DIGITS = 12
# Fields that may change without changing what is measured.
WORDS: dict[str, Any] = {
    "title": True,
    "question": True,
    "hypothesis": True,
    "short": True,
    "advice": True,
    "expected": True,
    "arms": {"__all__": {"about"}},
    "figures": {"__all__": {"about", "title", "unit", "is_part"}},
    "ablation": {"switches": {"__all__": {"about", "alone"}}},
    # These are computed from the same runs.
    "compare": True,
    "queue": True,
    "criteria": True,
}
# Those of them that must not change once there are results.
FIXED_ONCE_MEASURED = ("hypothesis", "expected", "criteria")


class Head(BaseModel):
    """Content of `session.json`."""

    name: str
    investigation: Investigation
    provenance: Provenance


class Line(BaseModel):
    """A line of `pairs.jsonl`: a scheduled pair that is done."""

    name: str
    pair: int
    runs: list[Run]

    @model_validator(mode="after")
    def _has_a_run_of_each_arm(self) -> Self:
        if (arms := sorted(run.arm for run in self.runs)) != arms_of(self.name):
            raise ValueError(f"{self.name} has no runs of {arms}")
        return self


class WarmUpOfProcess(BaseModel):
    """Warm-up of one process."""

    costs: list[float]
    steady: bool


class WarmUpDocument(RootModel[dict[str, WarmUpOfProcess]]):
    """Content of `warm-up.json`, by process."""


def digest(investigation: Investigation) -> str:
    """Return a digest of everything in an investigation that affects its measurements."""
    # `always_valid` changes when a session ends, not its runs. The others are left out if they have their defaults,
    # because older sessions did not have them.
    unknown_before: dict[str, Any] = {"session": {"always_valid"}}
    if not investigation.session.pairs_per_boot:
        unknown_before["session"].add("pairs_per_boot")
    if investigation.gates.late_ms == Gates().late_ms:
        unknown_before["gates"] = {"late_ms"}
    fields = investigation.model_dump_json(exclude=WORDS | unknown_before)
    return hashlib.sha256(fields.encode()).hexdigest()[:DIGITS]


def refused(what: str) -> RigFailure:
    """Return the error for a damaged file."""
    return RigFailure(what, hint="Begin again, with --fresh.")


class Store:
    """The folder of one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the lock of the folder: only one process may measure here."""
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WrongUse(f"{self.folder} is being measured already.", hint="Wait for its end, or stop it.") from error

    @property
    def exists(self) -> bool:
        """Whether a session was begun here."""
        return (self.folder / HEAD).exists()

    def begin(self, name: str, investigation: Investigation, where: Provenance) -> None:
        """Write the head of a session that begins, or of one that is resumed with another provenance."""
        if self.exists and self.done():
            head = self.head()
            name, investigation, where = head.name, head.investigation, head.provenance.resumed(where)
        self._write_head(name, investigation, where)

    def reword(self, investigation: Investigation) -> None:
        """Take over the current words of an investigation, except for those that are fixed once there are results."""
        if self.exists:
            head = self.head()
            fixed = {name: getattr(head.investigation, name) for name in FIXED_ONCE_MEASURED} if self.done() else {}
            self._write_head(head.name, investigation.model_copy(update=fixed), head.provenance)

    def _write_head(self, name: str, investigation: Investigation, where: Provenance) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        fields = investigation.model_dump(mode="json")
        head = {"schema": SCHEMA, "name": name, "investigation": fields, "provenance": asdict(where)}
        replace_text(self.folder / HEAD, json.dumps(head, indent=1) + "\n")

    @property
    def is_over(self) -> bool:
        """Whether the time limit has ended the session."""
        return (self.folder / OVER).exists()

    def end(self) -> None:
        """Record that the time limit has ended the session."""
        (self.folder / OVER).touch()

    def clear(self) -> None:
        """Remove all results. The list of done pairs goes first: an interrupted removal leaves no partial session."""
        (self.folder / PAIRS).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def head(self) -> Head:
        """Return the content of `session.json`."""
        path = self.folder / HEAD
        return parse_json(Head, read_text(path, refused), str(path), refused, SCHEMA)

    def warmed_up(self, document: dict[str, Any]) -> None:
        """Write the warm-up of the subjects."""
        replace_text(self.folder / WARM_UP, json.dumps(document, indent=1) + "\n")

    def warm_up(self) -> dict[str, Any]:
        """Return the warm-up of the subjects; empty if there was none."""
        path = self.folder / WARM_UP
        if not path.exists():
            return {}
        document = parse_json(WarmUpDocument, read_text(path, refused), str(path), refused).root
        return {name: process.model_dump() for name, process in document.items()}

    def done(self) -> dict[str, list[Run]]:
        """Return the runs of all done pairs, by the name of the scheduled pair."""
        path = self.folder / PAIRS
        if not path.exists():
            return {}
        # The text after the last newline is an incomplete line.
        *lines, _ = read_text(path, refused).split("\n")
        parsed = (
            parse_json(Line, line, f"{path}, line {number},", refused) for number, line in enumerate(lines, 1) if line
        )
        return {line.name: line.runs for line in parsed}

    def folder_of(self, scheduled: ScheduledPair, arm: str) -> Path:
        """Return the folder for the records of a run, without the remains of a killed session."""
        folder = self.folder / scheduled.name / arm
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def add(self, scheduled: ScheduledPair, runs: Sequence[Run]) -> None:
        """Append the runs of a scheduled pair that is done."""
        line = {"name": scheduled.name, "pair": scheduled.pair, "runs": [run.document() for run in runs]}
        self._cut_torn_line()
        with (self.folder / PAIRS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _cut_torn_line(self) -> None:
        path = self.folder / PAIRS
        if path.exists():
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if whole != content:
                path.write_bytes(whole)
