"""What a check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is. Only errors change the exit code."""

    OK = "ok"
    WARNING = "warning"
    """It works, but worse than it could, or only as long as nothing goes wrong."""
    ERROR = "error"
    """It does not work: something would not start, not answer, or give wrong numbers."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the answer: `what (where). hint`. No secret is ever put into one."""

    check: str
    level: Level
    what: str
    where: str = ""
    hint: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return {**asdict(self), "level": self.level.value}


def ok(check: str, what: str, where: str = "") -> Finding:
    """Return a finding that needs no hint."""
    return Finding(check, Level.OK, what, where)


def warning(check: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return a finding that does not change the exit code."""
    return Finding(check, Level.WARNING, what, where, hint)


def error(check: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return a finding that makes `evenkeel doctor` exit with 1."""
    return Finding(check, Level.ERROR, what, where, hint)
