"""What a session has found, in one file that is committed: everything that a report is made of.

A summary of another schema is refused: figures must not change their meaning without anybody noticing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, model_validator

from evenkeel_lab.atomic_files import parse_json, read_text, replace_text
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.measurement.latency_summary import Sketch, sketch
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.provenance import COUNTING, Provenance
from evenkeel_lab.runner.results.store import Warmed
from evenkeel_lab.runner.schedule import arms_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.runner.results.store import Store

SCHEMA = 1
FILE = "summary.json"
DIGITS = 6
VALKEY = "valkey_calls"


@dataclass(frozen=True)
class Summary:
    """One session."""

    name: str
    investigation: Investigation
    provenance: Mapping[str, Any]
    warm_up: Mapping[str, Any]
    done: Mapping[str, Sequence[Run]]
    """The runs of each meeting, by its name."""
    sketches: Mapping[str, Mapping[str, Sketch]]
    """Of each run, by its meeting's name and its arm's."""


class Gathered(BaseModel):
    """A meeting, as the file has it."""

    runs: list[Run]
    sketches: dict[str, Sketch]


class Document(BaseModel):
    """All of the file."""

    name: str
    investigation: Investigation
    provenance: Provenance
    warm_up: dict[str, Warmed]
    meetings: dict[str, Gathered]

    @model_validator(mode="after")
    def _meetings_are_of_their_arms(self) -> Self:
        for name, one in self.meetings.items():
            arms = arms_of(name)
            if sorted(run.arm for run in one.runs) != arms or not one.sketches.keys() <= set(arms):
                raise ValueError(f"{name} has other runs")
        return self


def gather(store: Store) -> Summary:
    """Return what a session has found so far."""
    head, done = store.head(), store.done()
    sketches = {
        meeting: {run.arm: sketch(store.folder / meeting / run.arm) for run in runs if "value" not in run.figures}
        for meeting, runs in done.items()
    }
    return Summary(head.name, head.investigation, asdict(head.provenance), store.warm_up(), done, sketches)


def write(summary: Summary, path: Path) -> None:
    """Write a summary."""
    told = {
        "schema": SCHEMA,
        "name": summary.name,
        "investigation": summary.investigation.model_dump(mode="json"),
        "provenance": summary.provenance,
        "warm_up": summary.warm_up,
        "meetings": {
            name: {
                "runs": [_rounded(one.document()) for one in runs],
                "sketches": {arm: asdict(found) for arm, found in summary.sketches[name].items()},
            }
            for name, runs in sorted(summary.done.items())
        },
    }
    # The order of arms and switches is the file's: tables and charts keep to it.
    replace_text(path, json.dumps(told, separators=(",", ":"), allow_nan=False) + "\n")


def read(path: Path) -> Summary:
    """Read a summary."""
    told = parse_json(Document, read_text(path, refused), str(path), refused, SCHEMA)
    return Summary(
        told.name,
        told.investigation,
        asdict(told.provenance),
        {name: one.model_dump() for name, one in told.warm_up.items()},
        {name: _believed(meeting.runs, told.provenance) for name, meeting in told.meetings.items()},
        {name: meeting.sketches for name, meeting in told.meetings.items()},
    )


def _believed(runs: list[Run], provenance: Provenance) -> list[Run]:
    """Return runs without what was counted in a way that is known to be wrong."""
    if provenance.counting >= COUNTING:
        return runs
    return [replace(run, figures={name: one for name, one in run.figures.items() if name != VALKEY}) for run in runs]


def refused(what: str) -> WrongUse:
    """Return the error for what is not what was written."""
    return WrongUse(what, hint="Take it from git again, or run the investigation, which writes it.")


def _rounded(value: Any) -> Any:
    """Return the same with as many digits as mean something."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case dict():
            return {name: _rounded(one) for name, one in value.items()}
        case list() | tuple():
            return [_rounded(one) for one in value]
        case _:
            return value
