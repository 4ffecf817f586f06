"""Section with all judged metrics, one table per comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.markdown import items, paragraph, table
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared, Comparison

RIGHT = ("effect [interval]", "margin", "detectable")


def tables(data: ReportData, _: Mapping[str, str]) -> str:
    """Return the tables and the legend of the metrics."""
    shown = [comparison for comparison in (*data.candidates, *data.ablated) if comparison.figures]
    if not shown:
        return ""
    legend = [
        f"**{name}**: {data.investigation.described[name].about}" for name in ordered(list(data.investigation.figures))
    ]
    return "\n\n".join(
        [
            "## All metrics",
            paragraph(
                "The metric in bold decides. The others are judged together, with Holm's correction. The margin is the "
                "smallest difference that matters. *Detectable* is the smallest effect that this number of pairs finds "
                "four times in five."
            ),
            *(
                part
                for comparison in shown
                for part in (f"### {heading(comparison)}", metrics_table(comparison, is_invalid=data.is_invalid))
            ),
            items(legend),
        ]
    )


def heading(comparison: Comparison) -> str:
    """Return the heading of a comparison."""
    return f"{comparison.candidate} against {comparison.baseline}: {counted(comparison.pairs, comparison.unit)}"


def metrics_table(comparison: Comparison, *, is_invalid: bool) -> str:
    """Return the table of a comparison, one row per metric."""
    head = ("metric", comparison.baseline, comparison.candidate, *RIGHT, "verdict")
    rows = [
        [
            f"**{compared.metric.name}**" if compared.primary else compared.metric.name,
            *_amounts(compared),
            wording.effect(compared),
            wording.margin(compared),
            wording.detectable(compared),
            wording.stated(compared, invalid=is_invalid),
        ]
        for compared in comparison.figures
    ]
    return table(head, rows, {comparison.baseline, comparison.candidate, *RIGHT})


def _amounts(compared: Compared) -> list[str]:
    """Return both amounts as text, or empty texts if one is negative, because then the rig miscounted."""
    if min((*compared.baseline, *compared.candidate), default=0) < 0:
        return ["", ""]
    return [wording.amount(compared, compared.baseline), wording.amount(compared, compared.candidate)]
