"""Findings on a terminal, and as one JSON document."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.doctor.finding import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "bold red"}


def passed(findings: Sequence[Finding]) -> bool:
    """Whether no finding is an error."""
    return all(finding.level is not Level.ERROR for finding in findings)


def as_json(findings: Sequence[Finding]) -> str:
    """Return the document of `--json`."""
    document = {"ok": passed(findings), "findings": [finding.document() for finding in findings]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_table(findings: Sequence[Finding]) -> RenderableType:
    """Return what is shown on a terminal: a line for each finding, then how many there are of each level."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        table.add_row(Text(finding.level.value, STYLES[finding.level]), finding.check, Text(sentence(finding)))
    return Group(table, Text(summary(findings)))


def sentence(finding: Finding) -> str:
    """Put what, where and hint into one line."""
    where = f" ({finding.where})" if finding.where else ""
    return f"{finding.what}{where}." + (f" {finding.hint}" if finding.hint else "")


def summary(findings: Sequence[Finding]) -> str:
    """Count errors and warnings."""
    count = Counter(finding.level for finding in findings)
    parts = [
        f"{count[level]} {level.value}{'' if count[level] == 1 else 's'}"
        for level in (Level.ERROR, Level.WARNING)
        if count[level]
    ]
    return f"{', '.join(parts)}." if parts else "Nothing to mend."
