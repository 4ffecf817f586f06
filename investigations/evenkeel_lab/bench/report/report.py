"""Duration of a report, from a million records to its last figure, and whether it is reproducible."""

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
FIELDS = {
    "title": "A million requests",
    "question": "How long does a report take?",
    "hypothesis": "Less than a minute.",
    "baseline": "off",
    "arms": {"off": {"about": "made up"}, "on": {"about": "made up, and slower"}},
    "figures": {"p50": {"margin": 0.05, "primary": True}, "p95": {"margin": 0.1}, "mean": {"margin": 0.05}},
    "session": {"looks": [PAIRS]},
}


async def bench_report(steps: Steps) -> list[Metric]:
    """Measure, and return the metrics."""
    investigation = Investigation.model_validate(FIELDS)
    planned = list(schedule(investigation, PAIRS))
    each = MILLION // sum(len(scheduled.arms) for scheduled in planned)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        folder = Path(name)
        store = Store(folder / "session")
        store.begin("a_million", investigation, replace(provenance("none"), dirty=False))
        with steps.step("a million records"):
            await asyncio.to_thread(_record, store, planned, each)
        with steps.step("merged, summarised, judged, rendered"):
            began = time.monotonic()
            await asyncio.to_thread(_render, store, planned, folder / "first")
            seconds = time.monotonic() - began
        with steps.step("rendered once more"):
            await asyncio.to_thread(render, gather(store), folder / "second")
        first, second = (_contents(folder / name) for name in ("first", "second"))
    note = f"{each * sum(len(scheduled.arms) for scheduled in planned):,} records of {PAIRS} pairs, {len(first)} files"
    different = sum(first.get(path) != second.get(path) for path in first.keys() | second.keys())
    return [
        Metric("report_1m_seconds", seconds, "s", "<= 60", note),
        Metric("rerender_different_files", different, "", "<= 0", f"of {len(first)}"),
    ]


def _record(store: Store, planned: list[ScheduledPair], each: int) -> None:
    for scheduled in planned:
        for arm in scheduled.arms:
            make_records(store.folder_of(scheduled, arm), each, scheduled.seed, SLOWER if arm == "on" else 1.0)


def _render(store: Store, planned: list[ScheduledPair], name: Path) -> None:
    for scheduled in planned:
        runs = []
        for arm in scheduled.arms:
            records = store.folder / scheduled.name / arm
            merge(records)
            summary = summarise(records)
            (step,) = summary.steps
            requests = sum(calls.requests for calls in step.calls.values())
            runs.append(Run(arm, 0, step.seconds, requests, metrics_of(summary)))
        store.add(scheduled, runs)
    render(gather(store), name)


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
