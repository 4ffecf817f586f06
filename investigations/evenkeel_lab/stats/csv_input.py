"""CSV files of metrics: one column for each metric, one line for each run, in the order of the runs.

The name of a column may end with its unit, `_s` or `_ms`: `avg_s` is the mean in seconds.
"""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.metrics import METRICS, metric_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALIASES = {"avg": "mean", "rps": "throughput", "requests_per_second": "throughput", "median": "p50"}
TO_MS = {"_ms": 1.0, "_s": 1000.0}


def read_csv(path: Path) -> dict[str, list[float]]:
    """Return the values of each metric in the file, in the order of its columns."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if len(row) > 1 or "".join(row).strip()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongUse(
            f"{path} cannot be read: {error}.", hint="Give a CSV file with one column for each metric."
        ) from error
    if len(rows) < 2:  # noqa: PLR2004  # a title and a run
        raise WrongUse(
            f"{path} holds no runs.", hint="Write a line with the names of the metrics, then one line for each run."
        )
    (_, title), *runs = rows
    for line, row in runs:
        if len(row) > len(title):
            raise WrongUse(
                f"{path}, line {line}: expected {len(title)} cells, got {len(row)}.",
                hint="Write one number in each column.",
            )
    figures: dict[str, list[float]] = {}
    columns: dict[str, str] = {}
    for column, text in enumerate(map(str.strip, title)):
        name, factor = _metric_of_column(text)
        if name in figures:
            raise WrongUse(
                f"{path}: the columns {columns[name]!r} and {text!r} both hold {name}.", hint="Keep one of them."
            )
        columns[name] = text
        figures[name] = [_number(f"{path}, line {line}", name, row, column, factor) for line, row in runs]
    return figures


def _metric_of_column(text: str) -> tuple[str, float]:
    """Return the metric of a column and the factor that converts its numbers to the unit of the metric."""
    for ending, factor in TO_MS.items():
        name = text.removesuffix(ending)
        timed = METRICS.get(ALIASES.get(name, name))
        if name != text and timed and timed.unit == "ms":
            return timed.name, factor
    metric = metric_named(ALIASES.get(text, text))
    if metric.unit == "ms" and not metric.name.endswith("_ms"):
        raise WrongUse(f"{text!r}: the column states no unit.", hint=f"Call it {text}_ms or {text}_s.")
    return metric.name, 1.0


def _number(where: str, name: str, row: Sequence[str], column: int, factor: float) -> float:
    cell = row[column] if column < len(row) else ""
    try:
        value = float(cell) * factor
    except ValueError as error:
        raise WrongUse(f"{where}: expected a number, got {cell!r}.", hint="Write one in each column.") from error
    if not math.isfinite(value) or value < 0:
        raise WrongUse(f"{where}: expected a number of at least 0, got {cell!r}.", hint="Correct the cell.")
    if METRICS[name].usual.scale is Scale.POINTS and value > 1:
        raise WrongUse(f"{where}: expected a number from 0 to 1, got {cell!r}.", hint=f"{name} is a share.")
    return value
