from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.errors import RigFailure, WrongUse
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.measurement.latency_summary import sketch
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.results.summary import gather, read, write
from evenkeel_lab.runner.schedule import schedule
from evenkeel_load.records.merge import merge
from evenkeel_load.records.record import Record
from evenkeel_load.records.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path

START = 1_800_000_000_000_000_000
PROVENANCE = {"machine": "x86_64", "commit": "0" * 40, "dirty": False}


def investigation() -> Investigation:
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "off",
            "arms": {"off": {"about": "off"}, "on": {"about": "on"}},
            "figures": {"p50": {"margin": 0.05, "primary": True}},
            "session": {"looks": [6], "noise": False},
        }
    )


def record(folder: Path, latencies_ms: list[float], **fields: Any) -> None:
    recorder = Recorder(folder)
    for number, latency in enumerate(latencies_ms):
        intended = START + number * 10_000_000
        told = dict.fromkeys(Record._fields) | {
            "number": number,
            "step": 0,
            "call": "chat",
            "key": str(number),
            "intended_ns": intended,
            "sent_ns": intended,
            "end_ns": intended + int(latency * 1e6),
            "chunk_ns": [],
            "status": 200,
            "arm": "",
            "run": "",
        }
        recorder.add(Record(**told | fields))
    recorder.close()
    merge(folder)


def session(folder: Path) -> Store:
    store = Store(folder)
    wanted = investigation()
    folder.mkdir(parents=True)
    told = {"schema": 4, "name": "x", "investigation": wanted.model_dump(mode="json"), "provenance": PROVENANCE}
    (folder / "session.json").write_text(json.dumps(told))
    source = np.random.default_rng(1)
    for scheduled in schedule(wanted, 6):
        runs = []
        for arm in scheduled.arms:
            factor = 1.2 if arm == "on" else 1.0
            latencies = (source.lognormal(4.6, 0.3, 500) * factor).tolist()
            record(store.folder_of(scheduled, arm), latencies)
            runs.append(Run(arm, START, 5.0, 500, {"p50": float(np.median(latencies))}))
        store.add(scheduled, runs)
    return store


def test_a_summary_says_all_that_the_session_has_found(tmp_path: Path) -> None:
    found = gather(session(tmp_path / "session"))
    path = tmp_path / "summary.json"
    write(found, path)
    again = read(path)
    assert (again.name, again.investigation) == ("x", investigation())
    assert again.provenance.items() >= PROVENANCE.items()
    first = judge_session(found.investigation, found.done, 6)
    second = judge_session(again.investigation, again.done, 6)
    assert first.settled
    assert [one.verdict and one.verdict.kind for one in second.comparisons[0].figures] == [
        one.verdict and one.verdict.kind for one in first.comparisons[0].figures
    ]
    # Written once more it is the same file, to the byte.
    write(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("counting", "believed"), [(1, False), (2, True)])
def test_what_was_counted_in_a_way_that_is_known_to_be_wrong_is_not_told(
    tmp_path: Path, counting: int, *, believed: bool
) -> None:
    found = gather(session(tmp_path / "session"))
    done = {
        name: [replace(run, figures=run.figures | {"valkey_calls": -3.0}) for run in runs]
        for name, runs in found.done.items()
    }
    path = tmp_path / "summary.json"
    write(replace(found, done=done, provenance={**found.provenance, "counting": counting}), path)
    told = {name for runs in read(path).done.values() for run in runs for name in run.figures}
    assert told == ({"p50", "valkey_calls"} if believed else {"p50"})


def test_a_run_is_sketched_as_far_as_it_can_be_told(tmp_path: Path) -> None:
    latencies = np.random.default_rng(2).lognormal(4.6, 0.5, 1000)
    record(tmp_path, latencies.tolist())
    found = sketch(tmp_path)
    assert found.quantiles["0.5"] == pytest.approx(np.median(latencies), rel=0.02)
    assert "0.98" in found.quantiles
    assert "0.99" not in found.quantiles
    assert sum(map(sum, found.over_time)) == 1000
    assert len(found.over_time) == 20


def test_failures_are_not_sketched(tmp_path: Path) -> None:
    record(tmp_path, [10.0] * 100, error="http_500")
    found = sketch(tmp_path)
    assert (found.quantiles, sum(map(sum, found.over_time))) == ({}, 0)


def test_records_that_are_corrupt_are_told(tmp_path: Path) -> None:
    store = session(tmp_path / "session")
    next(store.folder.glob("*/on/records.parquet")).write_bytes(b"nonsense")
    with pytest.raises(RigFailure, match="cannot be read"):
        gather(store)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read"),
        ("[]", "schema None"),
        ('{"schema": 0}', "schema 0"),
        ('{"schema": 2}', "name: field required"),
    ],
)
def test_another_summary_is_refused(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(content)
    with pytest.raises(WrongUse, match=told):
        read(path)
    with pytest.raises(WrongUse, match="cannot be read"):
        read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("where", "becomes"),
    [
        (("pairs",), []),
        (("provenance",), None),
        (("provenance", "versions"), []),
        (("warm_up",), {"off": {}}),
        (("pairs", 0, "runs"), []),
        (("pairs", 0, "runs", 0, "figures", "p50"), None),
        (("pairs", 0, "runs", 0, "figures", "p50"), "slow"),
        (("pairs", 0, "runs", 0, "figures", "p50"), float("nan")),
        (("pairs", 0, "runs", 0, "arm"), "other"),
        (("pairs", 0, "runs", 0, "start_ns"), 1e30),
        (("pairs", 0, "sketches", "other"), {"quantiles": {}, "over_time": []}),
        (("investigation", "figures"), {}),
    ],
)
def test_a_summary_that_was_tampered_with_is_one_sentence(
    tmp_path: Path, where: tuple[str | int, ...], becomes: Any
) -> None:
    path = tmp_path / "summary.json"
    write(gather(session(tmp_path / "session")), path)
    told = place = json.loads(path.read_text())
    for step in where[:-1]:
        place = list(place.values())[step] if isinstance(step, int) and isinstance(place, dict) else place[step]
    place[where[-1]] = becomes
    path.write_text(json.dumps(told))
    with pytest.raises(WrongUse, match="is not what was written") as refused:
        read(path)
    assert "\n" not in refused.value.what
