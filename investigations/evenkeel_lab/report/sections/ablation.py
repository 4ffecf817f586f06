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

HEAD = ("part", "what is removed", "cost [interval]", "share of the cost", "left without it")


def ablation(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return a table with the cost of each part, and a plot of the parts."""
    ablated, attribution = data.investigation.ablation, data.attribution
    if ablated is None:
        return ""
    title = f"## The parts of the cost of {ablated.full}"
    if attribution is None:
        few = (
            f"There are too few pairs. At least {LEAST_PAIRS} valid ones with {data.investigation.primary} are needed, "
            f"of {data.investigation.baseline} and {ablated.full}, and of each arm without a part with either of them."
        )
        return "\n\n".join([title, paragraph(few)])
    about = data.investigation.described[attribution.figure]
    rows = [["everything", "", _amount(about, attribution.total), "", ""]]
    for piece in (*attribution.pieces, *([attribution.rest] if attribution.rest else [])):
        share = wording.share(piece.share.mean, piece.share.low, piece.share.high) if piece.share else "unknown"
        left = _amount(about, piece.left) if piece.left else ""
        rows.append([piece.name, text(piece.about), _amount(about, piece.cost), share, left])
    if all(switch.alone for switch in ablated.switches.values()):
        meaning = (
            "the cost that it alone adds to the baseline. The rest is the cost of parts that only together have it."
        )
    else:
        meaning = (
            f"what {ablated.full} saves without it. *Left without it* is the difference from the baseline that "
            "remains. The rest belongs to none of the parts; if it is below zero, two parts share a cost."
        )
    method = f"The metric is {attribution.figure} in its own unit, so that costs add up. A part's cost is {meaning}"
    parts = [title, paragraph(method + data.invalid_note), table(HEAD, rows, HEAD[2:]), pictures.get("parts", "")]
    return "\n\n".join(part for part in parts if part)


def _amount(figure: Metric, amount: Amount) -> str:
    return wording.change(figure, amount.mean, amount.low, amount.high)
