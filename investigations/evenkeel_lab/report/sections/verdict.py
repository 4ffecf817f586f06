"""What was asked and what was found, before anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.markdown import items, paragraph, text
from evenkeel_lab.report.report_data import level, primary
from evenkeel_lab.report.sections.database import dearest
from evenkeel_lab.stats import LEAST_PAIRS, alpha_per_look, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.stats.compare import Compared, Comparison


def verdict(case: Case, pictures: Mapping[str, str]) -> str:
    """Say in the first lines what was found, and whether it may be believed."""
    title = text(case.asked.title)
    parts = [f"# Invalid: {title}" if case.judgement.invalid else f"# {title}"]
    if case.judgement.invalid:
        parts.append(
            paragraph("**Nothing in this session is to be believed, whatever its verdicts say.** What invalidates it:")
        )
        parts.append(items([f"{text(why)}." for why in case.judgement.invalid]))
    parts += [_book(case), paragraph(f"**{text(case.asked.question)}**")]
    if case.judgement.invalid:
        parts.append(paragraph("What its figures would say:"))
    said = [_said(case, one) for one in case.candidates]
    if not said and case.noise is not None:
        said = [_said(case, case.noise)]
    parts += [items(said), _belief(case), paragraph(_how(case)), pictures.get("forest", "")]
    return "\n\n".join(part for part in parts if part)


def _book(case: Case) -> str:
    """Say of which book it is a chapter, if it is one."""
    name, chapter = case.summary.name.rpartition("/")[::2]
    # Of what is not committed there may be no such page.
    if not name or not case.committed:
        return ""
    others = "which has the answer of all its chapters together"
    return paragraph(f"`{chapter}`, a chapter of [{name}](../{name}.md), {others}.")


def _said(case: Case, one: Comparison) -> str:
    found = primary(one)
    about = case.asked.arms.get(one.candidate)
    what = f" ({text(about.about)})" if about else " (the baseline once more)"
    head = f"**{one.candidate}**{what}:"
    if found is None or found.verdict is None:
        return f"{head} **{wording.NO_VERDICT}.** {_why_not(case, found, one)}"
    doubt = f", {wording.UNBELIEVED}" if case.judgement.invalid else ""
    told = f"{wording.sentence(found, one.baseline)} {wording.meaning(found)}"
    return f"{head} **{wording.kind(found)}{doubt}.** {told}{dearest(case, one)}"


def _why_not(case: Case, found: Compared | None, one: Comparison) -> str:
    if found is not None:
        return f"{wording.sentence(found, one.baseline)} {wording.meaning(found)}"
    if one.figures:
        return f"Its {case.asked.primary}, which decides, cannot be told in every run."
    return f"There are no valid pairs, of at least {LEAST_PAIRS}."


def _belief(case: Case) -> str:
    return paragraph(f"Believed before it was measured: {text(case.asked.hypothesis)}")


def _how(case: Case) -> str:
    """Say how many pairs there are, of which it was said beforehand when they may be judged."""
    looks = case.asked.session.looks
    alpha = alpha_per_look(looks)
    valid = [one.pairs for one in case.judgement.comparisons]
    least, most = min(valid, default=0), max(valid, default=0)
    pairs = counted(most, "pair") if least == most else f"{least} to {counted(most, 'pair')}"
    when = " or ".join(map(str, looks)) if len(looks) < 3 else f"{', '.join(map(str, looks[:-1]))} or {looks[-1]}"  # noqa: PLR2004
    stops = (
        f"It could be judged after {when} pairs, which was fixed beforehand" if not case.asked.session.seconds else ""
    )
    intervals = f"{level(alpha)} intervals"
    keeps = f"; {intervals} keep the chance of a false difference of each two at 5 % in all" if len(looks) > 1 else ""
    names = ", ".join(dict.fromkeys(doubt.name for doubt in case.doubts))
    doubted = f" Doubts, each explained under [Limits](#limits): {names}." if names else ""
    declared = f" {stops}{keeps}." if stops else f" {intervals}."
    return f"What decides is {case.asked.primary}, in {pairs} of runs for each two arms.{declared}{doubted}"
