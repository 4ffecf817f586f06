"""Result of one check, and results as a table for terminals or as one JSON document."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType


class Level(StrEnum):
    """Severity of a finding. Only errors change the exit code."""

    OK = "ok"
    ADVICE = "advice"
    """The proxy works; something else was measured to be faster."""
    WARNING = "warning"
    """The proxy works, but worse than it could, or only until something fails."""
    ERROR = "error"
    """Something would not start, would not answer, or would give wrong numbers."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check, shown as `what (where). hint`. It never contains a secret."""

    check: str
    level: Level
    what: str
    where: str = ""
    hint: str = ""

    def document(self) -> dict[str, Any]:
        """Return the finding as `--json` prints it."""
        return {**asdict(self), "level": self.level.value}


def ok(check: str, what: str, where: str = "") -> Finding:
    """Return a finding that needs no hint."""
    return Finding(check, Level.OK, what, where)


def advice(check: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return a finding that recommends a measured improvement."""
    return Finding(check, Level.ADVICE, what, where, hint)


def warning(check: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return a finding that does not change the exit code."""
    return Finding(check, Level.WARNING, what, where, hint)


def error(check: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return a finding that makes `evenkeel doctor` exit with 1."""
    return Finding(check, Level.ERROR, what, where, hint)


STYLES = {Level.OK: "green", Level.ADVICE: "cyan", Level.WARNING: "yellow", Level.ERROR: "bold red"}


def passed(findings: Sequence[Finding]) -> bool:
    """Whether no finding is an error."""
    return all(finding.level is not Level.ERROR for finding in findings)


def as_json(findings: Sequence[Finding]) -> str:
    """Return the document of `--json`."""
    document = {"ok": passed(findings), "findings": [finding.document() for finding in findings]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_table(findings: Sequence[Finding]) -> RenderableType:
    """Return the terminal output: a line for each finding, then the number of errors and warnings."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        table.add_row(Text(finding.level.value, STYLES[finding.level]), finding.check, Text(sentence(finding)))
    return Group(table, Text(summary(findings)))


def sentence(finding: Finding) -> str:
    """Return the finding as one line of text."""
    where = f" ({finding.where})" if finding.where else ""
    return f"{finding.what}{where}." + (f" {finding.hint}" if finding.hint else "")


def summary(findings: Sequence[Finding]) -> str:
    """Return the number of errors and warnings as a sentence."""
    count = Counter(finding.level for finding in findings)
    parts = [
        f"{count[level]} {level.value}{'' if count[level] == 1 else 's'}"
        for level in (Level.ERROR, Level.WARNING)
        if count[level]
    ]
    return f"{', '.join(parts)}." if parts else "Nothing to mend."
