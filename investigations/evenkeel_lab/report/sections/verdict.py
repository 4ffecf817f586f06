"""What was found, before anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.comparison import words
from evenkeel_lab.report.case import level, primary
from evenkeel_lab.report.counts import counted
from evenkeel_lab.report.markdown import items, paragraph, text
from evenkeel_lab.verdicts import LEAST_PAIRS, alpha_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.comparison.compare import Compared, Comparison
    from evenkeel_lab.report.case import Case

UNBELIEVED = "not to be believed"
NUMBERS = {1: "one look", 2: "two looks", 3: "three looks"}


def verdict(case: Case, pictures: Mapping[str, str]) -> str:
    """Say in the first lines what was found, and whether it may be believed."""
    title = text(case.asked.title)
    parts = [f"# Invalid: {title}" if case.judgement.invalid else f"# {title}"]
    if case.judgement.invalid:
        parts.append(
            paragraph("**Nothing in this session is to be believed, whatever its verdicts say.** What invalidates it:")
        )
        parts.append(items([f"{text(why)}." for why in case.judgement.invalid]))
        parts.append(paragraph("What its figures would say:"))
    said = [_said(case, one) for one in case.candidates]
    if not said and case.noise is not None:
        said = [_said(case, case.noise)]
    parts += [items(said), paragraph(_how(case)), pictures.get("forest", "")]
    return "\n\n".join(part for part in parts if part)


def _said(case: Case, one: Comparison) -> str:
    found = primary(one)
    about = case.asked.arms.get(one.candidate)
    what = f" ({text(about.about)})" if about else " (the baseline once more)"
    head = f"**{one.candidate}**{what}:"
    if found is None or found.verdict is None:
        return f"{head} **{words.NO_VERDICT}.** {_why_not(case, found, one)}"
    doubt = f", {UNBELIEVED}" if case.judgement.invalid else ""
    return f"{head} **{found.verdict.kind}{doubt}.** {words.sentence(found, one.baseline)} {words.meaning(found)}"


def _why_not(case: Case, found: Compared | None, one: Comparison) -> str:
    if found is not None:
        return f"{words.sentence(found, one.baseline)} {words.meaning(found)}"
    if one.figures:
        return f"Its {case.asked.primary}, which decides, cannot be told in every run."
    return f"There are no valid pairs, of at least {LEAST_PAIRS}."


def _how(case: Case) -> str:
    looks = case.asked.session.looks
    pairs = max((one.pairs for one in case.judgement.comparisons), default=0)
    alpha = alpha_of(looks)
    names = ", ".join(dict.fromkeys(doubt.name for doubt in case.doubts))
    doubted = f" Doubts: {names}; see [Doubts](#doubts)." if names else ""
    declared = NUMBERS[len(looks)]
    return (
        f"{case.asked.primary} decides. Up to {counted(pairs, 'pair')} of runs, {level(alpha)} intervals: {declared} "
        f"declared, each errs at {alpha * 100:.2g} %.{doubted}"
    )
