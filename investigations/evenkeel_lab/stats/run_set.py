"""Runs that were recorded, here or by others: one set of figures for each run.

A set of runs is a folder that holds a folder of records for each run (or is itself one), or a CSV file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stats.csv_input import read_table
from evenkeel_lab.stats.metrics import FIGURES
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
"""The figure of records that decides, if nobody names another."""


@dataclass(frozen=True)
class Runs:
    """A set of runs of one arm, in their order."""

    name: str
    figures: Mapping[str, Sequence[float]]
    """One number of each run, by the figure's name; only figures that every run has."""
    warnings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """What each run is called; empty if they have no names."""
    partial: tuple[str, ...] = ()
    """Figures that only some of them have."""
    primary: str | None = None
    """The figure that decides, if nobody names another."""

    @property
    def count(self) -> int:
        """How many runs there are."""
        return len(self.names) or min(map(len, self.figures.values()), default=0)

    @property
    def seen(self) -> set[str]:
        """Figures that any of them has."""
        return {*self.figures, *self.partial}


def read_runs(path: Path) -> Runs:
    """Read a set of runs."""
    if path.is_file():
        figures = read_table(path)
        return Runs(path.stem, figures, primary=next(iter(figures)))
    if not path.is_dir():
        raise WrongUse(f"There is no {path}.", hint="Give a folder of records, or a CSV file of figures.")
    folders, empty = ([path], []) if _is_run(path) else _within(path)
    if not folders:
        raise WrongUse(f"{path} holds no records.", hint="Give a folder that `evenkeel load` has made, or one of them.")
    summaries = [_summary(folder) for folder in folders]
    told = [figures_of(summary) for summary in summaries]
    limited = [
        f"{folder}: rig-limited: {why}"
        for folder, summary in zip(folders, summaries, strict=True)
        for why in summary.limited
    ]
    common = [name for name in FIGURES if all(name in one for one in told)]
    return Runs(
        path.name,
        {name: [one[name] for one in told] for name in common},
        (*(f"no-records: {folder} holds no records, and is left out" for folder in empty), *limited),
        tuple(folder.name for folder in folders),
        tuple(name for name in FIGURES if name not in common and any(name in one for one in told)),
        DECIDES,
    )


def _within(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders of a folder: those that hold a run, in the order of their names, and those that do not."""
    folders = sorted((child for child in path.iterdir() if child.is_dir()), key=lambda child: natural_key(child.name))
    runs = [folder for folder in folders if _is_run(folder)]
    for first, second in pairwise(runs):
        if natural_key(first.name) == natural_key(second.name):
            raise WrongUse(
                f"{path}: {first.name} and {second.name} are one name, and runs are paired by their names.",
                hint="Rename one of them.",
            )
    return runs, [folder for folder in folders if folder not in runs]


def figures_of(summary: Summary) -> dict[str, float]:
    """Return the figures of one run's records, as far as they can be told."""
    if len(summary.steps) != 1:
        raise WrongUse(
            f"A run of {len(summary.steps)} steps is not one run.", hint="Record each number of users in a folder."
        )
    (step,) = summary.steps
    calls: Calls | None = step.calls.get("all") or next(iter(step.calls.values()), None)
    if calls is None:
        return {}
    found = {"throughput": step.succeeded, "error_rate": calls.error_rate}
    # What has failed is not timed: where nothing succeeds there are no latencies, and no shares of them.
    if calls.latency is not None:
        found |= {"mean": calls.latency.mean, "above_1s": calls.above_1s, "above_5s": calls.above_5s}
        found |= _quantiles(calls.latency, "{}")
        found |= _quantiles(calls.first_token, "ttft_{}") | _quantiles(calls.added, "added_{}")
    return {name: value for name, value in found.items() if name in FIGURES}


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
