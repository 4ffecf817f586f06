"""What was asked of each arm, and whether it keeps to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table
from evenkeel_lab.runner.results.criteria import asked, criteria as judged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case

HEAD = ("arm", "figure", "asked", "mean of its pairs [interval]", "pairs", "")


def criteria(case: Case, _: Mapping[str, str]) -> str:
    """Return a table with a row for each of them."""
    found = judged(case.asked, case.summary.done)
    if not found:
        return ""
    told = (
        "What was asked of each arm beforehand, on this machine. *Kept*: all of the interval lies within it; *missed*: "
        "all of it lies beyond; *open*: it may be either. Where an arm runs more than once in a pair, the mean counts."
    )
    rows = [
        [one.arm, one.level.metric.name, asked(one), str(one.level), str(one.level.pairs), f"**{one.outcome}**"]
        for one in found
    ]
    return "\n\n".join(["## Success criteria", paragraph(told + case.disbelief), table(HEAD, rows, {*HEAD[2:5]})])
