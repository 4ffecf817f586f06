"""As it once was: from a file with a time on each line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_load.arrivals.schedule import Times


@dataclass(frozen=True)
class Trace:
    """The first column of a file: seconds, or points of time. A first line that is neither is taken for a title."""

    path: Path

    def times(self, _seed: int) -> Times:
        """Return when each request is due, from the first one on."""
        found = [
            self._seconds(row[0], number)
            for number, row in enumerate(self._rows(), 1)
            if number > 1 or _is_time(row[0])
        ]
        if not found:
            raise LoadConfigError(f"{self.path} holds no times.", cure="Write a second, or a time, on each line.")
        times = np.sort(np.array(found, dtype=np.float64))
        since_first: Times = times - times[0]
        return since_first

    def _rows(self) -> list[list[str]]:
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                return [row for row in csv.reader(file) if row and row[0].strip()]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise LoadConfigError(f"{self.path} cannot be read: {error}.", cure="Name another file.") from error

    def _seconds(self, text: str, number: int) -> float:
        try:
            return _read(text)
        except ValueError as error:
            raise LoadConfigError(
                f"{self.path}, line {number}: {text!r} is no time.", cure="Such as 12.5, or 2026-01-31T12:00:00Z."
            ) from error


def _is_time(text: str) -> bool:
    try:
        _read(text)
    except ValueError:
        return False
    return True


def _read(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = datetime.fromisoformat(text.strip()).timestamp()
    if not np.isfinite(seconds):
        raise ValueError(text)
    return seconds
