"""Committed results of benchmarks: a file for each, which its next measurement replaces."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evenkeel_lab.atomic_files import parse_json, read_text, replace_text
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.runner.results.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER, SCHEMA = "benches", 1


class BenchMetric(BaseModel):
    """A metric in the file."""

    name: str
    value: float
    unit: str
    bound: str | None
    reference: str | None
    ok: bool


class BenchResult(BaseModel):
    """Content of the file."""

    bench: str
    about: str
    measured: str
    """The day."""
    commit: str
    environment: dict[str, Any]
    metrics: list[BenchMetric]


def write_bench(root: Path, about: str, document: Mapping[str, Any]) -> Path:
    """Write the results of a benchmark below `root`, and return the path of the file."""
    origin = provenance(engine="")
    content = {
        "schema": SCHEMA,
        "about": about,
        "measured": datetime.now(tz=UTC).date().isoformat(),
        "commit": origin.commit + (", and changes beside it" if origin.dirty else ""),
        **document,
    }
    path = root / FOLDER / f"{document['bench']}.json"
    path.parent.mkdir(exist_ok=True)
    replace_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    return path


def read_benches(root: Path) -> list[BenchResult]:
    """Read the results of all benchmarks, in the order of their names."""
    return [
        parse_json(BenchResult, read_text(path, _refused), str(path), _refused, SCHEMA)
        for path in sorted((root / FOLDER).glob("*.json"))
    ]


def _refused(what: str) -> WrongUse:
    return WrongUse(what, hint="Restore it from git, or measure the benchmark again with --write.")
