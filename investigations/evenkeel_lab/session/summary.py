"""What a session has found, in one file that is committed: everything that a report is made of.

A summary of another schema is refused: figures must not change their meaning without anybody noticing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.experiment import Investigation
from evenkeel_lab.session.run import Run
from evenkeel_lab.session.sketch import Sketch, sketch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.session.store import Store

SCHEMA = 1
FILE = "summary.json"
DIGITS = 6


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


def gather(store: Store) -> Summary:
    """Return what a session has found so far."""
    head, done = store.head(), store.done()
    sketches = {
        meeting: {run.arm: sketch(store.folder / meeting / run.arm) for run in runs if "value" not in run.figures}
        for meeting, runs in done.items()
    }
    investigation = Investigation.model_validate_json(head["investigation"])
    return Summary(head["name"], investigation, head["provenance"], store.warm_up(), done, sketches)


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
    path.write_text(json.dumps(told, separators=(",", ":")) + "\n", encoding="utf-8")


def read(path: Path) -> Summary:
    """Read a summary."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", cure="Run the investigation, which writes it.") from error
    found = told.get("schema") if isinstance(told, dict) else None
    if found != SCHEMA:
        raise WrongUse(f"{path} is of schema {found}, this evenkeel reads {SCHEMA}.", cure="Run it again.")
    try:
        return Summary(
            told["name"],
            Investigation.model_validate(told["investigation"]),
            told["provenance"],
            told["warm_up"],
            {name: [Run.of(one) for one in meeting["runs"]] for name, meeting in told["meetings"].items()},
            {
                name: {arm: Sketch(**one) for arm, one in meeting["sketches"].items()}
                for name, meeting in told["meetings"].items()
            },
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WrongUse(f"{path} is not what was written: {error!r}.", cure="Take it from git again.") from error


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
