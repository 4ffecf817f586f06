"""Text with measured values: quotations are replaced by the values that they name."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.quotation import QUOTATION, Form, Share, quoted
from evenkeel_lab.report.markdown import prose, text
from evenkeel_lab.runner.results.arm_mean import arm_mean
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.investigation_spec import Investigation, Study
    from evenkeel_lab.investigation_spec.quotation import Finding
    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared

UNKNOWN = "unknown"
ESTIMATES = {
    Form.EFFECT: wording.effect,
    Form.LOWER: wording.lower,
    Form.HIGHER: wording.higher,
    Form.SHARE: wording.part,
    Form.MULTIPLE: wording.multiple,
    Form.FACTOR: wording.factor,
}


def answer_box(of: Study | Investigation, by_chapter: Mapping[str, ReportData]) -> str:
    """Return the question, the short answer and the advice; nothing without a short answer."""
    if not of.short:
        return ""
    lines = {"Asked": text(of.question), "Measured": with_quotations(of.short, by_chapter)}
    if of.advice:
        lines["Do"] = with_quotations(of.advice, by_chapter)
    return "\n>\n".join(f"> **{name}:** {line}" for name, line in lines.items())


def with_quotations(raw: str, by_chapter: Mapping[str, ReportData]) -> str:
    """Return text with the quoted numbers filled in."""
    # Quotations are replaced by numbers before escaping, because their names may contain markup.
    quotations, number = QUOTATION.findall(raw), count()
    numbered = QUOTATION.sub(lambda _: f"{{{next(number)}}}", raw)
    return QUOTATION.sub(lambda match: _quoted(quoted(quotations[int(match[1])]), by_chapter), prose(numbered))


def _quoted(quotation: Finding | Share, by_chapter: Mapping[str, ReportData]) -> str:
    data = by_chapter.get(quotation.chapter)
    if data is None:
        return wording.UNMEASURED
    if not isinstance(quotation, Share):
        if quotation.form is Form.MEASURED:
            mean = arm_mean(data.investigation, data.summary.done, quotation.arm, quotation.figure)
            return f"{mean}{invalid_note(data)}" if mean.is_known else UNKNOWN
        compared = compared_of(quotation, by_chapter)
        return f"{estimated(quotation, compared) or wording.NO_VERDICT}{invalid_note(data)}" if compared else UNKNOWN
    known = data.attribution.pieces if data.attribution else ()
    share = next((piece.share for piece in known if piece.name == quotation.switch), None)
    return f"{wording.share(share.mean, share.low, share.high)}{invalid_note(data)}" if share else UNKNOWN


def compared_of(finding: Finding, by_chapter: Mapping[str, ReportData]) -> Compared | None:
    """Return the comparison that a finding names; `None` if it was not measured."""
    data = by_chapter.get(finding.chapter)
    if data is None:
        return None
    arms = (finding.against or data.investigation.baseline, finding.arm)
    comparisons = [
        compared
        for comparison in data.judgement.comparisons
        if (comparison.baseline, comparison.candidate) == arms
        for compared in comparison.figures
    ]
    return next((compared for compared in comparisons if compared.metric.name == finding.figure), None)


def estimated(finding: Finding, compared: Compared) -> str:
    """Return the estimate in the finding's form; with its sign if the measured direction is another one."""
    form = Form.EFFECT if is_contradicted(finding, compared) else finding.form
    return ESTIMATES[form](compared)


def is_contradicted(finding: Finding, compared: Compared) -> bool:
    """Return whether a quotation states a direction that the measured effect does not have."""
    effect = 0.0 if compared.verdict is None else compared.verdict.mean
    return (finding.form is Form.LOWER and effect > 0) or (finding.form is Form.HIGHER and effect < 0)


def invalid_note(data: ReportData) -> str:
    """Return a note that a session is invalid; nothing if it is valid."""
    return " (the session is invalid)" if data.is_invalid else ""
