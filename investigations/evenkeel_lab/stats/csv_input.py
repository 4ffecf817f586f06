"""A CSV file of figures: a column for each figure and a line for each run, in the order in which they ran.

A column's name may end with its unit, `_s` or `_ms`: `avg_s` is the mean in seconds.
"""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.metrics import FIGURES, figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALIASES = {"avg": "mean", "rps": "throughput", "requests_per_second": "throughput", "median": "p50"}
TO_MS = {"_ms": 1.0, "_s": 1000.0}


def read_table(path: Path) -> dict[str, list[float]]:
    """Read the figures of a file, in the order of its columns."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if len(row) > 1 or "".join(row).strip()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongUse(
            f"{path} cannot be read: {error}.", hint="Give a CSV file with a column for each figure."
        ) from error
    if len(rows) < 2:  # noqa: PLR2004  # a title and a run
        raise WrongUse(f"{path} holds no runs.", hint="Write the figures' names, then a line for each run.")
    (_, title), *runs = rows
    for line, row in runs:
        if len(row) > len(title):
            raise WrongUse(
                f"{path}, line {line}: {len(row)} cells, of {len(title)} columns.", hint="Write one in each column."
            )
    figures: dict[str, list[float]] = {}
    columns: dict[str, str] = {}
    for column, text in enumerate(map(str.strip, title)):
        name, factor = _named(text)
        if name in figures:
            raise WrongUse(f"{path}: {columns[name]!r} and {text!r} are both {name}.", hint="Keep one of them.")
        columns[name] = text
        figures[name] = [_number(f"{path}, line {line}", name, row, column, factor) for line, row in runs]
    return figures


def _named(text: str) -> tuple[str, float]:
    """Return a column's figure, and what its numbers have to be multiplied with."""
    for ending, factor in TO_MS.items():
        name = text.removesuffix(ending)
        timed = FIGURES.get(ALIASES.get(name, name))
        if name != text and timed and timed.unit == "ms":
            return timed.name, factor
    found = figure(ALIASES.get(text, text))
    if found.unit == "ms" and not found.name.endswith("_ms"):
        raise WrongUse(f"{text!r}: nobody knows its unit.", hint=f"Call it {text}_ms or {text}_s.")
    return found.name, 1.0


def _number(where: str, name: str, row: Sequence[str], column: int, factor: float) -> float:
    cell = row[column] if column < len(row) else ""
    try:
        found = float(cell) * factor
    except ValueError as error:
        raise WrongUse(f"{where}: {cell!r} is no number.", hint="Write one in each column.") from error
    if not math.isfinite(found) or found < 0:
        raise WrongUse(f"{where}: {cell!r} is no figure.", hint="Write a number of at least 0.")
    if FIGURES[name].usual.scale is Scale.POINTS and found > 1:
        raise WrongUse(f"{where}: {cell!r} is no share, as {name} is.", hint="Write a number from 0 to 1.")
    return found
