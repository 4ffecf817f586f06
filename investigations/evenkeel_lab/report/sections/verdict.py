"""First section: the question and the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.caveats import BURST
from evenkeel_lab.report.markdown import items, paragraph, text
from evenkeel_lab.report.report_data import confidence_level, primary
from evenkeel_lab.report.sections.database import largest_difference
from evenkeel_lab.stats import LEAST_PAIRS, alpha_per_look, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared, Comparison


def verdict(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the title, the verdicts, and a warning if the session is invalid."""
    title = text(data.investigation.title)
    parts = [f"# Invalid: {title}" if data.judgement.invalid else f"# {title}"]
    if data.judgement.invalid:
        parts.append(
            paragraph("**Nothing in this session is to be believed, whatever its verdicts say.** What invalidates it:")
        )
        parts.append(items([f"{text(why)}." for why in data.judgement.invalid]))
    parts += [_study(data), _burst(data), paragraph(f"**{text(data.investigation.question)}**")]
    if data.judgement.invalid:
        parts.append(paragraph("What its figures would say:"))
    results = [_result(data, comparison) for comparison in data.candidates]
    if not results and data.noise is not None:
        results = [_result(data, data.noise)]
    parts += [items(results), _hypothesis(data), paragraph(_pairs_and_looks(data)), pictures.get("forest", "")]
    return "\n\n".join(part for part in parts if part)


def _study(data: ReportData) -> str:
    """Return a sentence that links the study of a chapter, or nothing."""
    name, chapter = data.summary.name.rpartition("/")[::2]
    # The page of the study may not exist if the session is not committed.
    if not name or not data.committed:
        return ""
    which = "which has the answer of all its chapters together"
    return paragraph(f"`{chapter}`, a chapter of [{name}](../{name}.md), {which}.")


def _burst(data: ReportData) -> str:
    """Return what a burst at the start of each run has done to the figures, or nothing."""
    return "\n\n".join(paragraph(f"**Note:** {text(each.sentence)}") for each in data.caveats if each.name == BURST)


def _result(data: ReportData, comparison: Comparison) -> str:
    compared = primary(comparison)
    about = data.investigation.arms.get(comparison.candidate)
    what = f" ({text(about.about)})" if about else " (the baseline once more)"
    head = f"**{comparison.candidate}**{what}:"
    if compared is None or compared.verdict is None:
        return f"{head} **{wording.NO_VERDICT}.** {_why_not(data, compared, comparison)}"
    unbelieved = f", {wording.UNBELIEVED}" if data.judgement.invalid else ""
    sentence = f"{wording.sentence(compared, comparison.baseline)} {wording.meaning(compared)}"
    return f"{head} **{wording.kind(compared)}{unbelieved}.** {sentence}{largest_difference(data, comparison)}"


def _why_not(data: ReportData, compared: Compared | None, comparison: Comparison) -> str:
    if compared is not None:
        return f"{wording.sentence(compared, comparison.baseline)} {wording.meaning(compared)}"
    if comparison.figures:
        return f"Its {data.investigation.primary}, which decides, has no value in some runs."
    return f"There are no valid pairs, of at least {LEAST_PAIRS}."


def _hypothesis(data: ReportData) -> str:
    return paragraph(f"Believed before it was measured: {text(data.investigation.hypothesis)}")


def _pairs_and_looks(data: ReportData) -> str:
    """Return sentences on the number of pairs, the declared looks and the caveats."""
    looks = data.investigation.session.looks
    alpha = alpha_per_look(looks)
    valid = [comparison.pairs for comparison in data.judgement.comparisons]
    least, most = min(valid, default=0), max(valid, default=0)
    unit = "boot" if data.investigation.session.pairs_per_boot else "pair"
    pairs = counted(most, unit) if least == most else f"{least} to {counted(most, unit)}"
    when = " or ".join(map(str, looks)) if len(looks) < 3 else f"{', '.join(map(str, looks[:-1]))} or {looks[-1]}"  # noqa: PLR2004
    stops = (
        f"It could be judged after {when} pairs, which was fixed beforehand"
        if not data.investigation.session.seconds
        else ""
    )
    if data.investigation.session.always_valid:
        stops = f"It could end after any pair, and after {looks[-1]} at the latest: its intervals are always valid"
    intervals = f"{confidence_level(alpha)} intervals"
    keeps = f"; {intervals} keep the chance of a false difference of each two at 5 % in all" if len(looks) > 1 else ""
    names = ", ".join(dict.fromkeys(caveat.name for caveat in data.caveats))
    caveats = f" Caveats, each explained under [Limits](#limits): {names}." if names else ""
    declared = f" {stops}{keeps}." if stops else f" {intervals}."
    return f"What decides is {data.investigation.primary}, in {pairs} of runs for each two arms.{declared}{caveats}"
