"""Errors of the lab. Each states what happened, and has a hint with the remedy.

LabError
├── WrongUse          exit 2   the request is invalid
│   ├── UnknownVersion         a LiteLLM version that does not exist or is refused
│   ├── UnsafeDatabase         a database of the user's own would have to be changed
│   ├── NotMeasured            an investigation without results
│   └── CellFailed             a cell of a notebook failed, or its output is not reproducible
└── RigFailure        exit 3   the request is valid, but the machine or a process failed
    ├── ProcessFailed             a process ended or did not answer; has the end of its log
    ├── MissingTool            a program that the lab needs cannot be installed
    ├── NotReached             a store does not answer at the moment
    ├── DiskFull               no free space where the lab has to write
    ├── ScheduleMissed         a load was too late for a valid measurement
    └── FaultNotCaused         a fault had no effect, so that a test of it proves nothing
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

WRONG_USE = 2
RIG_INVALID = 3
DISK_FULL_HINT = (
    "Free some space: sessions are in data/ of the project, stacks in TMPDIR, environments in EVENKEEL_CACHE. "
    "TMPDIR and EVENKEEL_CACHE may name another disk."
)


def nearest(name: str, known_names: Iterable[str]) -> str:
    """Return a hint for an unknown `name`: the most similar of `known_names`, or all of them."""
    known = list(known_names)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}."


class LabError(Exception):
    """Base of all errors that are shown to the user as one sentence and a hint."""

    exit_code: ClassVar[int] = RIG_INVALID

    def __init__(self, what: str, *, hint: str, details: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        return f"{self.what} {self.hint}"

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows instead of a stack trace."""
        return [str(self)]


class WrongUse(LabError):
    """The request is invalid."""

    exit_code = WRONG_USE


class UnknownVersion(WrongUse):
    """The LiteLLM version does not exist, cannot be installed, or is refused."""


class UnsafeDatabase(WrongUse):
    """The user's own database would have to be changed without permission."""


class NotMeasured(WrongUse):
    """The investigation has no summary yet."""


class CellFailed(WrongUse):
    """A notebook's cell raised, took too long, or has output that differs between executions."""


class RigFailure(LabError):
    """The machine or a process failed."""


class ProcessFailed(RigFailure):
    """A process ended, or did not answer in time. `details` has the last lines of its log."""


class MissingTool(RigFailure):
    """A program that the lab needs is not installed and cannot be installed."""


class ScheduleMissed(RigFailure):
    """The machine was too busy for a load to keep its schedule, or for a proxy to serve it. The result is invalid."""


class FaultNotCaused(RigFailure):
    """A fault had no effect, so that a test of it proves nothing."""


class NotReached(RigFailure):
    """A store does not answer at the moment."""


class DiskFull(RigFailure):
    """There is no free space where the lab has to write."""
