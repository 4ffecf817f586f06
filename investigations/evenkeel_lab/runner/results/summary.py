"""The committed summary of a session: everything that a report is made of.

A summary of another schema is rejected, so that the meaning of a value never changes silently.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, model_validator

from evenkeel_lab.atomic_files import parse_json, read_text, replace_text
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.runner.measurement.latency_summary import Sketch, sketch
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.provenance import COUNTING, Provenance
from evenkeel_lab.runner.results.store import WarmUpOfProcess
from evenkeel_lab.runner.schedule import arms_of, pair_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.runner.results.store import Store

SCHEMA = 2
FILE = "summary.json"
DIGITS = 6
VALKEY = "valkey_calls"


@dataclass(frozen=True)
class Summary:
    """Results of a session."""

    name: str
    investigation: Investigation
    provenance: Mapping[str, Any]
    warm_up: Mapping[str, Any]
    done: Mapping[str, Sequence[Run]]
    """Runs by the name of the scheduled pair."""
    sketches: Mapping[str, Mapping[str, Sketch]]
    """Sketches by the name of the scheduled pair, then by arm."""


class DonePair(BaseModel):
    """A scheduled pair in the file."""

    runs: list[Run]
    sketches: dict[str, Sketch]


class Document(BaseModel):
    """Content of the file."""

    name: str
    investigation: Investigation
    provenance: Provenance
    warm_up: dict[str, WarmUpOfProcess]
    pairs: dict[str, DonePair]

    @model_validator(mode="after")
    def _pairs_are_of_their_arms(self) -> Self:
        for name, pair in self.pairs.items():
            arms = arms_of(name)
            if sorted(run.arm for run in pair.runs) != arms or not pair.sketches.keys() <= set(arms):
                raise ValueError(f"{name} has other runs")
        return self


def gather(store: Store) -> Summary:
    """Return the summary of a session's results so far."""
    head, done = store.head(), store.done()
    functions = {name for name, arm in head.investigation.arms.items() if arm.subject is Kind.FUNCTION}
    sketches = {
        name: {run.arm: sketch(store.folder / name / run.arm) for run in runs if run.arm not in functions}
        for name, runs in done.items()
    }
    shown = {name: runs if pair_number(name) == 1 else without_lanes(runs) for name, runs in done.items()}
    return Summary(head.name, head.investigation, asdict(head.provenance), store.warm_up(), shown, sketches)


def without_lanes(runs: Sequence[Run]) -> list[Run]:
    """Return runs without their lanes. Lanes are drawn of the first pair only."""
    return [replace(run, lanes={}) for run in runs]


def write(summary: Summary, path: Path) -> None:
    """Write a summary."""
    document = {
        "schema": SCHEMA,
        "name": summary.name,
        "investigation": summary.investigation.model_dump(mode="json"),
        "provenance": summary.provenance,
        "warm_up": summary.warm_up,
        "pairs": {
            name: {
                "runs": [_rounded(run.document()) for run in runs],
                "sketches": {arm: asdict(of_arm) for arm, of_arm in summary.sketches[name].items()},
            }
            for name, runs in sorted(summary.done.items())
        },
    }
    # Arms and switches keep the order of the file, which tables and charts use.
    replace_text(path, json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n")


def read(path: Path) -> Summary:
    """Read a summary."""
    document = parse_json(Document, read_text(path, refused), str(path), refused, SCHEMA)
    return Summary(
        document.name,
        document.investigation,
        asdict(document.provenance),
        {name: process.model_dump() for name, process in document.warm_up.items()},
        {name: _valid_runs(pair.runs, document.provenance) for name, pair in document.pairs.items()},
        {name: pair.sketches for name, pair in document.pairs.items()},
    )


def _valid_runs(runs: list[Run], provenance: Provenance) -> list[Run]:
    """Return runs without values that were counted by a method that is known to be wrong."""
    if provenance.counting >= COUNTING:
        return runs
    return [
        replace(run, figures={name: value for name, value in run.figures.items() if name != VALKEY}) for run in runs
    ]


def refused(what: str) -> WrongUse:
    """Return the error for a damaged summary."""
    return WrongUse(what, hint="Restore it from git, or run the investigation, which writes it.")


def _rounded(value: Any) -> Any:
    """Return `value` with all numbers rounded to six significant digits."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case dict():
            return {name: _rounded(item) for name, item in value.items()}
        case list() | tuple():
            return [_rounded(item) for item in value]
        case _:
            return value
