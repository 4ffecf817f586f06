"""Runs that no load has made, as folders of records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evenkeel_load.records.record import Record
from evenkeel_load.records.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MS = 1_000_000
START_NS = 1_800_000_000_000_000_000


def write_run(folder: Path, *, ms: int = 50, requests: int = 60, failed: int = 0) -> None:
    """Write the records of a run with these latencies, and with failures at its end."""
    folder.mkdir(parents=True)
    recorder = Recorder(folder)
    for number in range(requests):
        told = {"number": number, "step": 0, "call": "chat", "key": "", "chunk_ns": [], "arm": "", "run": ""}
        told["intended_ns"] = told["sent_ns"] = told["first_byte_ns"] = START_NS + number * 10 * MS
        told["end_ns"] = START_NS + number * 10 * MS + (ms + number % 3) * MS
        told["error"] = "http_500" if number >= requests - failed else None
        recorder.add(Record(**dict.fromkeys(Record._fields) | told))  # type: ignore[arg-type]
    recorder.close()
    plan = {"step": 0, "scenario": "chat", "host": "", "arrivals": "closed", "users": 1, "expected": requests}
    plan |= {"span": None, "duration": None, "processes": 0}
    (folder / "plan-0.json").write_text(json.dumps(plan))


@pytest.fixture
def run() -> Callable[..., None]:
    return write_run
