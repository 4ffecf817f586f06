"""Runs that were recorded, here or by others: one set of figures for each run.

A set of runs is a folder that holds a folder of records for each run (or is itself one), or a CSV file with a column
for each figure and a line for each run, in the order in which they ran. A column's name may end with its unit, `_s` or
`_ms`: `avg_s` is the mean in seconds.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.comparison.figures import FIGURES, figure
from evenkeel_lab.errors import WrongUse
from evenkeel_load.errors import LoadError
from evenkeel_load.folder import PARTS, RECORDS
from evenkeel_load.merge import merge
from evenkeel_load.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkeel_load.statistics import Spread
    from evenkeel_load.summary import Calls, Summary

ALIASES = {"avg": "mean", "rps": "throughput", "requests_per_second": "throughput", "median": "p50"}
TO_MS = {"_ms": 1.0, "_s": 1000.0}


@dataclass(frozen=True)
class Runs:
    """A set of runs of one arm, in their order."""

    name: str
    figures: Mapping[str, Sequence[float]]
    """One number of each run, by the figure's name; only figures that every run has."""
    warnings: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many runs there are."""
        return len(next(iter(self.figures.values()), ()))


def read_runs(path: Path) -> Runs:
    """Read a set of runs."""
    if path.is_file():
        return _read_table(path)
    if not path.is_dir():
        raise WrongUse(f"There is no {path}.", cure="Give a folder of records, or a CSV file of figures.")
    folders = (
        [path] if _is_run(path) else sorted(child for child in path.iterdir() if child.is_dir() and _is_run(child))
    )
    if not folders:
        raise WrongUse(f"{path} holds no records.", cure="Give a folder that `evenkeel load` has made, or one of them.")
    summaries = [_summary(folder) for folder in folders]
    told = [figures_of(summary) for summary in summaries]
    common = [name for name in FIGURES if all(name in one for one in told)]
    limited = [
        f"{folder}: rig-limited: {why}"
        for folder, summary in zip(folders, summaries, strict=True)
        for why in summary.limited
    ]
    return Runs(path.name, {name: [one[name] for one in told] for name in common}, tuple(limited))


def figures_of(summary: Summary) -> dict[str, float]:
    """Return the figures of one run's records, as far as they can be told."""
    if len(summary.steps) != 1:
        raise WrongUse(
            f"A run of {len(summary.steps)} steps is not one run.", cure="Record each number of users in a folder."
        )
    (step,) = summary.steps
    calls: Calls | None = step.calls.get("all") or next(iter(step.calls.values()), None)
    if calls is None or calls.latency is None:
        return {}
    found = (
        _quantiles(calls.latency, "{}") | _quantiles(calls.first_token, "ttft_{}") | _quantiles(calls.added, "added_{}")
    )
    found |= {
        "mean": calls.latency.mean,
        "throughput": step.answered,
        "above_1s": calls.above_1s,
        "above_5s": calls.above_5s,
        "error_rate": calls.error_rate,
    }
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
        raise WrongUse(error.what, cure=error.cure) from error


def _read_table(path: Path) -> Runs:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongUse(
            f"{path} cannot be read: {error}.", cure="Give a CSV file with a column for each figure."
        ) from error
    if len(rows) < 2:  # noqa: PLR2004  # a title and a run
        raise WrongUse(f"{path} holds no runs.", cure="Write the figures' names, then a line for each run.")
    title, *runs = rows
    figures: dict[str, list[float]] = {}
    for column, text in enumerate(title):
        name, factor = _named(text.strip())
        figures[name] = [_number(path, line, row, column) * factor for line, row in enumerate(runs, 2)]
    return Runs(path.stem, figures)


def _named(text: str) -> tuple[str, float]:
    """Return a column's figure, and what its numbers have to be multiplied with."""
    for ending, factor in TO_MS.items():
        name = text.removesuffix(ending)
        if name != text and FIGURES.get(ALIASES.get(name, name)):
            return ALIASES.get(name, name), factor
    found = figure(ALIASES.get(text, text))
    if found.unit == "ms":
        raise WrongUse(f"{text!r}: nobody knows its unit.", cure=f"Call it {text}_ms or {text}_s.")
    return found.name, 1.0


def _number(path: Path, line: int, row: Sequence[str], column: int) -> float:
    try:
        found = float(row[column])
    except (IndexError, ValueError) as error:
        cell = row[column] if column < len(row) else ""
        raise WrongUse(f"{path}, line {line}: {cell!r} is no number.", cure="Write one in each column.") from error
    if not math.isfinite(found) or found < 0:
        raise WrongUse(f"{path}, line {line}: {row[column]!r} is no figure.", cure="Write a number of at least 0.")
    return found
