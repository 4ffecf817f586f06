"""What the cost of the full arm is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table, text
from evenkeel_lab.stats import LEAST_PAIRS, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.runner.results.ablation import Amount
    from evenkeel_lab.stats.metrics import Metric

HEAD = ("part", "what is taken away", "cost [interval]", "share of the cost", "left without it")


def ablation(case: Case, pictures: Mapping[str, str]) -> str:
    """Say it part by part, as a table and as a waterfall."""
    asked, found = case.asked.ablation, case.attribution
    if asked is None:
        return ""
    title = f"## What the cost of {asked.full} is made of"
    if found is None:
        few = (
            f"Nothing is attributed: it takes at least {LEAST_PAIRS} valid pairs, with their {case.asked.primary}, of "
            f"{case.asked.baseline} and {asked.full}, and of each arm that lacks a part with either of them."
        )
        return "\n\n".join([title, paragraph(few)])
    about = case.asked.described[found.figure]
    rows = [["all of it", "", _amount(about, found.total), "", ""]]
    for piece in (*found.pieces, *([found.rest] if found.rest else [])):
        share = wording.share(piece.share.mean, piece.share.low, piece.share.high) if piece.share else "cannot be told"
        left = _amount(about, piece.left) if piece.left else ""
        rows.append([piece.name, text(piece.about), _amount(about, piece.cost), share, left])
    told = (
        f"{found.figure}, in its own unit, so that costs add up. A part's cost is what {asked.full} saves without it; "
        "what is left is how far the arm without it still stands above the baseline. The rest belongs to none of the "
        "parts; below zero, two parts share a cost."
    )
    parts = [title, paragraph(told + case.disbelief), table(HEAD, rows, HEAD[2:]), pictures.get("waterfall", "")]
    return "\n\n".join(part for part in parts if part)


def _amount(figure: Metric, amount: Amount) -> str:
    return wording.change(figure, amount.mean, amount.low, amount.high)
