"""What can go wrong in the lab, as one tree. Each error says what happened and what cures it.

LabError
├── WrongUse          exit 2   the user asked for something that cannot be
│   ├── UnknownVersion         a LiteLLM version that does not exist or is refused
│   ├── UnsafeDatabase         a database of the user's own that would have to be changed
│   ├── NotMeasured            an investigation that nobody has run yet
│   └── CellFailed             a notebook's cell that failed, or shows what nobody could show again
└── RigFailure        exit 3   the request was fine, the machine or a part let it down
    ├── ProcessFailed             a part died or did not answer; carries the end of its log
    ├── MissingTool            a program that the lab needs is not to be had
    ├── NotReached             a store that does not answer now, and may in a moment
    ├── DiskFull               no room where the lab has to write
    └── ScheduleMissed         a load that came too late to show anything
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

WRONG_USE = 2
RIG_INVALID = 3
DISK_FULL_HINT = (
    "Free some room where it lies: sessions in data/ of the project; stacks in TMPDIR, environments in EVENKEEL_CACHE, "
    "which may point to another disk."
)


def nearest(name: str, there: Iterable[str]) -> str:
    """Return the hint for a name that is not there: the one that may have been meant, or all there are."""
    known = list(there)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}."


class LabError(Exception):
    """Base of every error that a user is told about in one sentence."""

    exit_code: ClassVar[int] = RIG_INVALID

    def __init__(self, what: str, *, hint: str, details: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        return f"{self.what} {self.hint}"

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a stack trace."""
        return [str(self)]


class WrongUse(LabError):
    """The request itself cannot be carried out."""

    exit_code = WRONG_USE


class UnknownVersion(WrongUse):
    """A LiteLLM version that does not exist, does not install, or is refused."""


class UnsafeDatabase(WrongUse):
    """The user's own database would have to be changed without leave."""


class NotMeasured(WrongUse):
    """There is no summary of an investigation yet."""


class CellFailed(WrongUse):
    """A notebook's cell raised, took too long, or shows what differs from one execution to the next."""


class RigFailure(LabError):
    """The machine or one of the parts failed."""


class ProcessFailed(RigFailure):
    """A part died, or did not answer in time. `details` holds the last lines of its log."""


class MissingTool(RigFailure):
    """A program that the lab needs is neither installed nor installable."""


class ScheduleMissed(RigFailure):
    """The machine was too busy for a load to keep its schedule, or for a proxy to serve it: nothing is shown."""


class NotReached(RigFailure):
    """A store does not answer now, and may in a moment."""


class DiskFull(RigFailure):
    """There is no room where the lab has to write."""
