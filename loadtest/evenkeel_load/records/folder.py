"""Files in a folder of records.

plan-STEP.json            the plan of a step, without keys
part-HOST-PID-TIME.arrows the records of a running process
torn-part-*.arrows        an incomplete file, of which the readable part is merged
health-HOST-PID.jsonl     CPU use and lag of that process and its machine
proxy.jsonl               CPU and memory of the process of --pid, once a second
progress.json             the progress
failure.json              the error that ended the load
records.parquet           all records, once they are merged
summary.json              the summary
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenkeel_load.errors import LoadConfigError
from evenkeel_load.options import SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel_load.errors import LoadError
    from evenkeel_load.plan import Plan

PARTS, HEALTH, PLANS = "part-*.arrows", "health-*.jsonl", "plan-*.json"
SAMPLES = "proxy.jsonl"
PROGRESS, FAILURE, RECORDS, SUMMARY = "progress.json", "failure.json", "records.parquet", "summary.json"
OF_A_LOAD = (PARTS, HEALTH, PLANS, FAILURE, RECORDS)
"""Files that a folder must not have before a load."""


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder: only one process may write or merge records in it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise LoadConfigError(f"{folder} is in use.", hint="Wait for the other command's end.") from error
    finally:
        os.close(descriptor)


def write_plan(folder: Path, plan: Plan, host: str, processes: int) -> None:
    """Write the plan of a step, with the number of sending processes."""
    folder.mkdir(parents=True, exist_ok=True)
    left_out = {option.field for option in SECRETS} | {"user_modes"}
    fields = {name: value for name, value in asdict(plan).items() if name not in left_out}
    fields |= {"scenario": plan.scenario.name, "host": host, "expected": plan.expected, "span": plan.span}
    fields["processes"] = processes
    (folder / f"plan-{plan.step}.json").write_text(json.dumps(fields, indent=1, default=str) + "\n", encoding="utf-8")


def write_progress(folder: Path, answered: int, failed: int, *, waiting: bool = False) -> None:
    """Write the progress atomically."""
    path = folder / PROGRESS
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"answered": answered, "failed": failed, "waiting": waiting}), encoding="utf-8")
    new.replace(path)


def write_failure(folder: Path, error: LoadError) -> None:
    """Write the error that ended the load."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FAILURE).write_text(json.dumps({"what": error.what, "hint": error.hint}), encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; empty if the file is missing or incomplete."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
