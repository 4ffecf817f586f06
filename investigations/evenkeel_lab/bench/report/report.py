"""How long a report takes, from a million records to its last figure; and whether it is the same again."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.report.records import make_records
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.report import render
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.results.summary import gather
from evenkeel_lab.runner.schedule import ScheduledPair, schedule
from evenkeel_lab.stats.run_set import metrics_of
from evenkeel_load.analysis.summary import summarise
from evenkeel_load.records.merge import merge

if TYPE_CHECKING:
    from evenkeel_lab.progress import Steps

MILLION = 1_000_000
PAIRS = 24
SLOWER = 1.1
ASKED = {
    "title": "A million requests",
    "question": "How long does a report take?",
    "hypothesis": "Less than a minute.",
    "baseline": "off",
    "arms": {"off": {"about": "made up"}, "on": {"about": "made up, and slower"}},
    "figures": {"p50": {"margin": 0.05, "primary": True}, "p95": {"margin": 0.1}, "mean": {"margin": 0.05}},
    "session": {"looks": [PAIRS]},
}


async def bench_report(steps: Steps) -> list[Metric]:
    """Measure."""
    asked = Investigation.model_validate(ASKED)
    planned = list(schedule(asked, PAIRS))
    each = MILLION // sum(len(one.arms) for one in planned)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        folder = Path(name)
        store = Store(folder / "session")
        store.begin("a_million", asked, replace(provenance("none"), dirty=False))
        with steps.step("a million records"):
            await asyncio.to_thread(_record, store, planned, each)
        with steps.step("merged, summarised, judged, rendered"):
            began = time.monotonic()
            await asyncio.to_thread(_render, store, planned, folder / "first")
            seconds = time.monotonic() - began
        with steps.step("rendered once more"):
            await asyncio.to_thread(render, gather(store), folder / "second")
        first, second = (_contents(folder / place) for place in ("first", "second"))
    told = f"{each * sum(len(one.arms) for one in planned):,} records of {PAIRS} pairs, {len(first)} files"
    different = sum(first.get(path) != second.get(path) for path in first.keys() | second.keys())
    return [
        Metric("report_1m_seconds", seconds, "s", "<= 60", told),
        Metric("rerender_different_files", different, "", "<= 0", f"of {len(first)}"),
    ]


def _record(store: Store, planned: list[ScheduledPair], each: int) -> None:
    for meeting in planned:
        for arm in meeting.arms:
            make_records(store.folder_of(meeting, arm), each, meeting.seed, SLOWER if arm == "on" else 1.0)


def _render(store: Store, planned: list[ScheduledPair], place: Path) -> None:
    for meeting in planned:
        runs = []
        for arm in meeting.arms:
            records = store.folder / meeting.name / arm
            merge(records)
            summary = summarise(records)
            (step,) = summary.steps
            requests = sum(calls.requests for calls in step.calls.values())
            runs.append(Run(arm, 0, step.seconds, requests, metrics_of(summary)))
        store.add(meeting, runs)
    render(gather(store), place)


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
