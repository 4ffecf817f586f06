"""Synthetic loads in folders like those of `evenkeel load` and of a session."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.diagnosis.diagnose import Diagnosis, diagnose
from evenkeel_lab.diagnosis.evidence import read
from evenkeel_lab.runner.measurement.run import FILE, Run
from evenkeel_load.records.record import Record
from evenkeel_load.records.recorder import Recorder
from evenkeel_load.records.resource_samples import Sample, Used, write_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

MS = 1_000_000
START = 1_800_000_000_000_000_000


def record(number: int, due: float, *, upstream: float = 0.0, proxy: float = 5.0, **fields: Any) -> Record:
    """Return a request by times in milliseconds; half of the time in the proxy lies before the provider."""

    def ns(at: float) -> int:
        return START + int(at * MS)

    end = due + proxy + upstream
    usual = {
        "number": number,
        "step": 0,
        "call": "chat",
        "key": str(number),
        "intended_ns": ns(due),
        "sent_ns": ns(due),
        "first_byte_ns": ns(end),
        "end_ns": ns(end),
        "chunk_ns": [],
        "status": 200,
        "retries": 0,
        "mock_received_ns": ns(due + proxy / 2),
        "mock_sent_ns": ns(due + proxy / 2 + upstream),
        "arm": "",
        "run": "run",
    }
    return Record(**dict.fromkeys(Record._fields) | usual | fields)


def one_after_another(users: int, count: int, cost: float, upstream: float = 0.0) -> list[Record]:
    """Return a closed load on a proxy that serves one request at a time."""
    free, asks, rows = 0.0, [0.0] * users, []
    for number in range(count):
        user = int(np.argmin(asks))
        due = asks[user]
        free = max(free, due) + cost
        rows.append(record(number, due, proxy=free - due, upstream=upstream))
        asks[user] = free + upstream
    return rows


@dataclass
class Folder:
    """Builder of a load's folder."""

    path: Path
    record = staticmethod(record)
    one_after_another = staticmethod(one_after_another)

    def load(self, rows: Iterable[Record], *, cpu: float = 0.1, busy: float = 0.8, **plan: Any) -> Folder:
        rows = list(rows)
        recorder = Recorder(self.path)
        for row in rows:
            recorder.add(row)
        recorder.close()
        document = {"step": 0, "scenario": "chat", "host": "http://x", "arrivals": "closed", "users": 3, "processes": 1}
        document |= {"expected": len(rows), "span": None, "duration": None, "connections": 4096} | plan
        (self.path / f"plan-{document['step']}.json").write_text(json.dumps(document))
        second = {"step": document["step"], "cpu": cpu, "seconds": 1.0, "sent": 1, "in_flight": plan.get("users", 3)}
        second |= {"busy": busy, "stolen": 0.0, "cores": 2, "over": False}
        last = second | {"cpu": 0.0, "seconds": 0.0, "over": True}
        path = self.path / f"health-here-{document['step']}.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in [second] * 30 + [last]))
        return self

    def proxy(self, cpu: float, waited: float | None = 0.0, *, seconds: int = 200) -> Folder:
        used = (Used(7, "python", cpu, waited), Used(8, "query-engine", 0.1, 0.0))
        write_samples(self.path, [Sample(START / 1e9 + n + 1, 1.0, used, 800.0) for n in range(seconds)])
        return self

    def session(self, arm: str = "on", seconds: float = 20.0, **counted: Any) -> Folder:
        usual = {"figures": {}, "cpu": {"python": 0.3 * seconds}, "database": {"deadlocks": 0, "temp_files": 0}}
        usual["provider"] = 0.1
        run = Run(arm, START, seconds, 100, **usual | counted)
        (self.path / FILE).write_text(json.dumps(run.document()))
        return self

    def diagnosis(self) -> Diagnosis:
        (evidence,) = read(self.path)
        return diagnose(evidence)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "run")


@pytest.fixture
def another(tmp_path: Path) -> Callable[[str], Folder]:
    def create(name: str) -> Folder:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        return Folder(tmp_path / name)

    return create
