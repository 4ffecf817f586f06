"""Recorded runs: a value of each metric for each run.

A set of runs is a folder that holds a folder of records for each run, a single folder of records, or a CSV file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stats.csv_input import read_csv
from evenkeel_lab.stats.metrics import METRICS
from evenkeel_load.analysis.summary import summarise
from evenkeel_load.errors import LoadError
from evenkeel_load.records.folder import PARTS, RECORDS
from evenkeel_load.records.merge import merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkeel_load.analysis.statistics import Spread
    from evenkeel_load.analysis.summary import Calls, Summary

NUMBER = re.compile("([0-9]+)")
DECIDES = "p50"
"""Metric of records that decides, unless the command names another."""


@dataclass(frozen=True)
class Runs:
    """Runs of one arm, in their order."""

    name: str
    figures: Mapping[str, Sequence[float]]
    """Values of all runs by the name of the metric; only metrics that every run has."""
    warnings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names of the runs; empty if they have none."""
    partial: tuple[str, ...] = ()
    """Metrics that only a part of the runs has."""
    primary: str | None = None
    """Metric that decides, unless the command names another."""

    @property
    def count(self) -> int:
        """Number of runs."""
        return len(self.names) or min(map(len, self.figures.values()), default=0)

    @property
    def seen(self) -> set[str]:
        """Metrics that at least one run has."""
        return {*self.figures, *self.partial}


def read_runs(path: Path) -> Runs:
    """Read a set of runs from a folder or a CSV file."""
    if path.is_file():
        figures = read_csv(path)
        return Runs(path.stem, figures, primary=next(iter(figures)))
    if not path.is_dir():
        raise WrongUse(f"{path} does not exist.", hint="Give a folder of records or a CSV file of metrics.")
    folders, empty = ([path], []) if _is_run(path) else _within(path)
    if not folders:
        raise WrongUse(
            f"{path} holds no records.", hint="Give a folder that `evenkeel load` wrote, or a folder of such folders."
        )
    summaries = [_summary(folder) for folder in folders]
    metrics = [metrics_of(summary) for summary in summaries]
    warnings = [
        f"{folder}: rig-limited: {why}"
        for folder, summary in zip(folders, summaries, strict=True)
        for why in summary.limited
    ]
    common = [name for name in METRICS if all(name in values for values in metrics)]
    return Runs(
        path.name,
        {name: [values[name] for values in metrics] for name in common},
        (*(f"no-records: {folder} holds no records, and is left out" for folder in empty), *warnings),
        tuple(folder.name for folder in folders),
        tuple(name for name in METRICS if name not in common and any(name in values for values in metrics)),
        DECIDES,
    )


def _within(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the subfolders of `path` that hold a run, in the order of their names, and those that hold none."""
    folders = sorted((child for child in path.iterdir() if child.is_dir()), key=lambda child: natural_key(child.name))
    runs = [folder for folder in folders if _is_run(folder)]
    for first, second in pairwise(runs):
        if natural_key(first.name) == natural_key(second.name):
            raise WrongUse(
                f"{path}: {first.name} and {second.name} are the same name for the pairing of runs.",
                hint="Rename one of them.",
            )
    return runs, [folder for folder in folders if folder not in runs]


def metrics_of(summary: Summary) -> dict[str, float]:
    """Return the metrics that the records of one run determine."""
    if len(summary.steps) != 1:
        raise WrongUse(
            f"Expected records of one step, got {len(summary.steps)} steps.",
            hint="Record each number of users in a folder of its own.",
        )
    (step,) = summary.steps
    calls: Calls | None = step.calls.get("all") or next(iter(step.calls.values()), None)
    if calls is None:
        return {}
    metrics = {"throughput": step.succeeded, "error_rate": calls.error_rate}
    # Failed requests are not timed: without a success there are no latencies, and no shares of them.
    if calls.latency is not None:
        shares = {name: getattr(calls, name) for name in ("above_1s", "above_5s", "first_above_5s")}
        metrics |= {"mean": calls.latency.mean} | shares
        if calls.first_slowest_ms is not None:
            metrics["first_slowest"] = calls.first_slowest_ms
        metrics |= _quantiles(calls.latency, "{}")
        metrics |= _quantiles(calls.first_token, "ttft_{}") | _quantiles(calls.added, "added_{}")
    return {name: value for name, value in metrics.items() if name in METRICS}


def _quantiles(spread: Spread | None, name: str) -> dict[str, float]:
    if spread is None:
        return {}
    return {name.format(q): value for q, value in spread.quantiles.items() if q not in spread.unsure}


def _is_run(folder: Path) -> bool:
    return (folder / RECORDS).exists() or any(folder.glob(PARTS))


def _summary(folder: Path) -> Summary:
    try:
        merge(folder)
        return summarise(folder)
    except LoadError as error:
        raise WrongUse(error.what, hint=error.hint) from error


def natural_key(name: str) -> tuple[str | int, ...]:
    """Return a sort key that treats digits in a name as numbers, so that 2 comes before 10."""
    return tuple(int(part) if NUMBER.fullmatch(part) else part for part in NUMBER.split(name))
