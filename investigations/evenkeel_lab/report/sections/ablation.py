"""Section on an ablation: the parts of the full arm's cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table, text
from evenkeel_lab.stats import LEAST_PAIRS, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.runner.results.ablation import Amount
    from evenkeel_lab.stats.metrics import Metric

HEAD = ("part", "what is taken away", "cost [interval]", "share of the cost", "left without it")


def ablation(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return a table with the cost of each part, and the waterfall plot."""
    ablated, attribution = data.investigation.ablation, data.attribution
    if ablated is None:
        return ""
    title = f"## What the cost of {ablated.full} is made of"
    if attribution is None:
        few = (
            f"Nothing is attributed: it takes at least {LEAST_PAIRS} valid pairs, with their "
            f"{data.investigation.primary}, of {data.investigation.baseline} and {ablated.full}, "
            "and of each arm that lacks a part with either of them."
        )
        return "\n\n".join([title, paragraph(few)])
    about = data.investigation.described[attribution.figure]
    rows = [["all of it", "", _amount(about, attribution.total), "", ""]]
    for piece in (*attribution.pieces, *([attribution.rest] if attribution.rest else [])):
        share = wording.share(piece.share.mean, piece.share.low, piece.share.high) if piece.share else "unknown"
        left = _amount(about, piece.left) if piece.left else ""
        rows.append([piece.name, text(piece.about), _amount(about, piece.cost), share, left])
    if all(switch.alone for switch in ablated.switches.values()):
        meaning = "what the baseline costs more with it alone. The rest is what parts cost only together."
    else:
        meaning = (
            f"what {ablated.full} saves without it; what is left is how far the arm without it still stands above the "
            "baseline. The rest belongs to none of the parts; below zero, two parts share a cost."
        )
    method = f"{attribution.figure}, in its own unit, so that costs add up. A part's cost is {meaning}"
    parts = [title, paragraph(method + data.invalid_note), table(HEAD, rows, HEAD[2:]), pictures.get("waterfall", "")]
    return "\n\n".join(part for part in parts if part)


def _amount(figure: Metric, amount: Amount) -> str:
    return wording.change(figure, amount.mean, amount.low, amount.high)
