"""Trace arrivals: due times from a file with a time on each line."""

from __future__ import annotations

import contextlib
import csv
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel_load.arrivals.schedule import Extent, Times


@dataclass(frozen=True)
class Trace:
    """The first column of a file: seconds, or times of day. A title without digits is skipped."""

    path: Path
    extent: Extent | None = None
    """The part that is sent; by default all."""

    def times(self, _seed: int) -> Times:
        """Return the due times, relative to the first one."""
        all_seconds: list[float] = []
        first: type | None = None
        for line, text in self._column():
            kind, seconds = self._time(text, line)
            first = first or kind
            if kind is not first:
                raise LoadConfigError(
                    f"{self.path}, line {line}: {text!r} is not of the same kind as the first time.",
                    hint="Write seconds, or points of time, but not both.",
                )
            all_seconds.append(seconds)
        if not all_seconds:
            raise LoadConfigError(f"{self.path} has no times.", hint="Write a time on each line.")
        times = np.sort(np.array(all_seconds, dtype=np.float64))
        since_first: Times = times - times[0]
        return self.extent.cut(since_first) if self.extent else since_first

    def _column(self) -> Iterator[tuple[int, str]]:
        """Yield the texts of the first column, with their line numbers."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file)
                untitled = False
                for row in rows:
                    text = row[0].strip() if row else ""
                    if text and (untitled or any(letter.isdigit() for letter in text)):
                        yield rows.line_num, text
                    untitled = untitled or bool(text)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise LoadConfigError(f"{self.path} cannot be read: {error}.", hint="Name another file.") from error

    def _time(self, text: str, line: int) -> tuple[type, float]:
        """Return the kind of a time, and its seconds."""
        try:
            with contextlib.suppress(ValueError):
                return float, _finite(float(text))
            return datetime, datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError) as error:
            raise LoadConfigError(
                f"{self.path}, line {line}: expected a time, got {text!r}.",
                hint="Examples are 12.5 and 2026-01-31T12:00:00Z.",
            ) from error


def _finite(number: float) -> float:
    if not np.isfinite(number):
        raise ValueError(number)
    return number
