"""A folder of records: what lies in it under which name.

plan-STEP.json            what was to be sent, without keys
part-HOST-PID-TIME.arrows the records of a process, while it runs
torn-part-*.arrows        one that could not be read to its end; what could be read is merged
health-HOST-PID.jsonl     how that process fared, and its machine
proxy.jsonl               what the process named with --pid used, second after second
progress.json             how far it is
failure.json              why it could not be made
records.parquet           all records, once merged
summary.json              what they say
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
"""What a folder must not hold before a load."""


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Be the only one that loads into a folder, or merges what lies there."""
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise LoadConfigError(f"{folder} is in use.", hint="Wait for the other command's end.") from error
    finally:
        os.close(place)


def write_plan(folder: Path, plan: Plan, host: str, processes: int) -> None:
    """Write down what is to be sent, and by how many processes."""
    folder.mkdir(parents=True, exist_ok=True)
    left_out = {option.field for option in SECRETS} | {"user_modes"}
    told = {name: value for name, value in asdict(plan).items() if name not in left_out}
    told |= {"scenario": plan.scenario.name, "host": host, "expected": plan.expected, "span": plan.span}
    told["processes"] = processes
    (folder / f"plan-{plan.step}.json").write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")


def write_progress(folder: Path, answered: int, failed: int, *, waiting: bool = False) -> None:
    """Write down how far it is; a reader finds it whole."""
    path = folder / PROGRESS
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"answered": answered, "failed": failed, "waiting": waiting}), encoding="utf-8")
    new.replace(path)


def write_failure(folder: Path, error: LoadError) -> None:
    """Write down why there is no load."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FAILURE).write_text(json.dumps({"what": error.what, "hint": error.hint}), encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read one of the small files; what is not there, or not whole, is empty."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
