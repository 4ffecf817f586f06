"""Section on success criteria: what was required of each arm, and whether it is met."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table
from evenkeel_lab.runner.results.criteria import criteria as judged, describe_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData

HEAD = ("arm", "metric", "bound", "mean of its pairs [interval]", "pairs", "")


def criteria(data: ReportData, _: Mapping[str, str]) -> str:
    """Return a table with one row per criterion."""
    outcomes = judged(data.investigation, data.summary.done)
    if not outcomes:
        return ""
    method = (
        "These bounds were fixed beforehand, for this machine. *Kept*: the whole interval is within the bound. "
        "*Missed*: the whole interval is beyond it. *Open*: it may be either."
    )
    rows = [
        [
            outcome.arm,
            outcome.measured.metric.name,
            describe_bound(outcome),
            str(outcome.measured),
            str(outcome.measured.pairs),
            f"**{outcome.outcome}**",
        ]
        for outcome in outcomes
    ]
    return "\n\n".join(["## Success criteria", paragraph(method + data.invalid_note), table(HEAD, rows, {*HEAD[2:5]})])
