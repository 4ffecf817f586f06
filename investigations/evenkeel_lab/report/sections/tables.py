"""All figures that are judged, a table for each two arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.markdown import items, paragraph, table
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.stats.compare import Compared, Comparison

RIGHT = ("effect [interval]", "margin", "detectable")


def tables(case: Case, _: Mapping[str, str]) -> str:
    """Return them."""
    shown = [one for one in (*case.candidates, *case.switched) if one.figures]
    if not shown:
        return ""
    legend = [f"**{name}**: {case.asked.described[name].about}" for name in ordered(list(case.asked.figures))]
    return "\n\n".join(
        [
            "## All figures",
            paragraph(
                "The margin is from where on a difference matters; detectable is the smallest effect that so many "
                "pairs would have found four times in five. The figure in bold decides; the others are a family, of "
                "which only those differ that chance does not explain (Holm's correction)."
            ),
            *(part for one in shown for part in (f"### {heading(one)}", figures(one, invalid=invalid(case)))),
            items(legend),
        ]
    )


def heading(one: Comparison) -> str:
    """Say which two arms are compared."""
    return f"{one.candidate} against {one.baseline}: {counted(one.pairs, 'pair')}"


def figures(one: Comparison, *, invalid: bool) -> str:
    """Return the table of two arms."""
    head = ("figure", one.baseline, one.candidate, *RIGHT, "verdict")
    rows = [
        [
            f"**{found.metric.name}**" if found.primary else found.metric.name,
            *_amounts(found),
            wording.effect(found),
            wording.margin(found),
            wording.detectable(found),
            wording.stated(found, invalid=invalid),
        ]
        for found in one.figures
    ]
    return table(head, rows, {one.baseline, one.candidate, *RIGHT})


def _amounts(found: Compared) -> list[str]:
    """Return nothing where the rig has miscounted: nothing that is measured lies below zero."""
    if min((*found.baseline, *found.candidate), default=0) < 0:
        return ["", ""]
    return [wording.amount(found, found.baseline), wording.amount(found, found.candidate)]


def invalid(case: Case) -> bool:
    """Whether nothing of a session may be believed."""
    return bool(case.judgement.invalid)
