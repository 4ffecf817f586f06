"""First section: the question and the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.report.caveats import BURST
from evenkeel_lab.report.markdown import items, paragraph, text
from evenkeel_lab.report.quoted_text import answer_box
from evenkeel_lab.report.report_data import confidence_level, primary
from evenkeel_lab.report.sections.database import largest_difference
from evenkeel_lab.stats import LEAST_PAIRS, alpha_per_look, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared, Comparison

EQUAL = "Both proxies are equal, so this difference is noise."


def verdict(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the title, the verdicts, and a warning if the session is invalid."""
    title = text(data.investigation.title)
    parts = [f"# Invalid: {title}" if data.is_invalid else f"# {title}"]
    if data.is_invalid:
        parts.append(paragraph("**This session is invalid: do not use its results.** The reasons:"))
        parts.append(items([f"{text(why)}." for why in data.judgement.invalid]))
    box = "" if data.is_invalid else answer_box(data.investigation, {data.summary.name: data})
    parts += [box or paragraph(f"**{text(data.investigation.question)}**"), _burst(data)]
    if data.is_invalid:
        parts.append(paragraph("Its metrics would say:"))
    results = [_result(data, comparison) for comparison in data.candidates]
    if not results and data.noise is not None:
        results = [_result(data, data.noise)]
    parts += [items(results), pictures.get("forest", ""), _hypothesis(data), paragraph(_pairs_and_looks(data))]
    parts.append(_study(data))
    return "\n\n".join(part for part in parts if part)


def _study(data: ReportData) -> str:
    """Return a sentence that links the study of a chapter, or nothing."""
    name, chapter = data.summary.name.rpartition("/")[::2]
    # The page of the study may not exist if the session is not committed.
    if not name or not data.committed:
        return ""
    return paragraph(f"`{chapter}` is a chapter of the study [{name}](../{name}.md), which has the whole answer.")


def _burst(data: ReportData) -> str:
    """Return what a burst at the start of each run has done to the figures, or nothing."""
    return "\n\n".join(paragraph(f"**Note:** {text(each.sentence)}") for each in data.caveats if each.name == BURST)


def _result(data: ReportData, comparison: Comparison) -> str:
    compared = primary(comparison)
    about = data.investigation.arms.get(comparison.candidate)
    what = f" ({text(about.about)})" if about else " (the baseline again)"
    head = f"**{comparison.candidate}**{what}:"
    if compared is None or compared.verdict is None:
        return f"{head} **{wording.NO_VERDICT}.** {_why_not(data, compared, comparison)}"
    unbelieved = f", {wording.UNBELIEVED}" if data.is_invalid else ""
    sentence = f"{wording.sentence(compared, comparison.baseline)} {wording.meaning(compared)}"
    return f"{head} **{wording.kind(compared)}{unbelieved}.** {sentence}{largest_difference(data, comparison)}"


def _why_not(data: ReportData, compared: Compared | None, comparison: Comparison) -> str:
    if compared is not None:
        meaning = EQUAL if comparison.candidate == AGAIN else wording.meaning(compared)
        return f"{wording.sentence(compared, comparison.baseline)} {meaning}"
    if comparison.figures:
        return f"{data.investigation.primary}, which decides, has no value in some runs."
    return f"There are no valid pairs; at least {LEAST_PAIRS} are needed."


def _hypothesis(data: ReportData) -> str:
    return paragraph(f"Expected before the measurement: {text(data.investigation.hypothesis)}")


def _pairs_and_looks(data: ReportData) -> str:
    """Return sentences on the number of pairs, the declared looks and the caveats."""
    looks = data.investigation.session.looks
    alpha = alpha_per_look(looks)
    valid = [comparison.pairs for comparison in data.judgement.comparisons]
    least, most = min(valid, default=0), max(valid, default=0)
    unit = "boot" if data.investigation.session.pairs_per_boot else "pair"
    pairs = counted(most, unit) if least == most else f"{least} to {counted(most, unit)}"
    when = " or ".join(map(str, looks)) if len(looks) < 3 else f"{', '.join(map(str, looks[:-1]))} or {looks[-1]}"  # noqa: PLR2004
    stops = f"It was fixed beforehand to judge after {when} pairs" if not data.investigation.session.seconds else ""
    if data.investigation.session.always_valid:
        stops = f"Its intervals are always valid, so it could end after any pair, at the latest after {looks[-1]}"
    intervals = f"{confidence_level(alpha)} intervals"
    keeps = f"; with {intervals}, the chance of a false difference is 5 % in all" if len(looks) > 1 else ""
    names = ", ".join(dict.fromkeys(caveat.name for caveat in data.caveats))
    caveats = f" Caveats, explained under [Limits](#limits): {names}." if names else ""
    declared = f" {stops}{keeps}." if stops else f" {intervals}."
    return f"The metric that decides is {data.investigation.primary}, in {pairs} of runs.{declared}{caveats}"
