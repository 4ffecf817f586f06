"""The page of a book: what its chapters have found, what becomes of others' claims, and what can be done."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted, duration
from evenkeel_lab.investigation_spec.quotation import QUOTATION, Share, Telling, quoted
from evenkeel_lab.report.caveats import pairs_done
from evenkeel_lab.report.claim_check import lying, ruled
from evenkeel_lab.report.markdown import fenced, items, paragraph, picture, table, text
from evenkeel_lab.report.page import Page, folder_of
from evenkeel_lab.report.plots.answers import NAME as ANSWERS, answers
from evenkeel_lab.report.plots.style import svg
from evenkeel_lab.report.report_data import primary
from evenkeel_lab.report.sections.reproduce import commit, day, seconds
from evenkeel_lab.report.sections.tables import invalid
from evenkeel_lab.runner.results.arm_mean import level
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Book
    from evenkeel_lab.investigation_spec.quotation import Finding
    from evenkeel_lab.investigation_spec.study import Claim, Cure
    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.stats.compare import Compared

UNTOLD = "cannot be told"
IMPRESSION = (
    "**A first impression.** Runs were short, as many as there was time for, and nothing was measured against one that "
    "is the same."
)
# What an operator asks first, where a chapter judges it.
SHOWN = ("throughput", "p50", "p95", "mean", "cpu_ms", "prisma_calls", "value")
TOLD = {Telling.EFFECT: wording.effect, Telling.SHARE: wording.part, Telling.FACTOR: wording.factor}
# From here on a range that was claimed has no end.
NOTHING_LEFT, ENDLESS = -0.99, 99.0


def book_page(name: str, book: Book, cases: Mapping[str, Case], *, quick: bool = False) -> Page:
    """Make the page of a book; of a chapter that was not measured yet, it says so."""
    cases = {chapter: cases[chapter] for chapter in book.chapters if chapter in cases}
    drawn = answers(cases)
    figures = {ANSWERS: svg(drawn, f"{name}-{ANSWERS}")} if drawn else {}
    parts = [
        f"# {text(book.title)}",
        paragraph(IMPRESSION) if quick else "",
        *(paragraph(_told(one, cases)) for one in book.answer.strip().split("\n\n")),
        _answer(name, book, cases),
        picture(_alt(cases), f"{folder_of(name)}/{ANSWERS}.svg", "" if quick else f"evenkeel report {name}")
        if figures
        else "",
        f"## Question\n\n{paragraph(text(book.question))}",
        f"## Method\n\n{paragraph(('At length: ' if quick else '') + text(book.method))}",
        _evidence(name, book, cases),
        _claims(name, book, cases),
        _cures(name, book.cures, cases),
        _limits(name, book, cases),
        "" if quick else _reproduce(name, book, cases),
    ]
    return Page(name, "\n\n".join(filter(None, parts)) + "\n", figures)


def _answer(name: str, book: Book, cases: Mapping[str, Case]) -> str:
    said = []
    for chapter in book.chapters:
        if chapter not in cases:
            said.append(f"**{chapter}**: {wording.UNMEASURED}.")
            continue
        case = cases[chapter]
        found = "; ".join(_short(case, one.candidate, primary(one)) for one in case.shown)
        said.append(f"{_link(name, chapter, text(case.asked.title))}, against {case.asked.baseline}: {found}.")
    return items(said)


def _told(told: str, cases: Mapping[str, Case]) -> str:
    """Return words of the book's, with the numbers that they quote."""
    # Numbers stand for what is quoted, whose names may hold what is markup elsewhere.
    wanted, number = QUOTATION.findall(told), count()
    numbered = QUOTATION.sub(lambda _: f"{{{next(number)}}}", told)
    return QUOTATION.sub(lambda found: _quoted(quoted(wanted[int(found[1])]), cases), text(numbered))


def _quoted(one: Finding | Share, cases: Mapping[str, Case]) -> str:
    case = cases.get(one.chapter)
    if case is None:
        return wording.UNMEASURED
    if not isinstance(one, Share):
        if one.told is Telling.MEASURED:
            own = level(case.asked, case.summary.done, one.arm, one.figure)
            return f"{own}{_unbelieved(case)}" if own.is_told else UNTOLD
        found = _found(one, cases)
        return f"{_estimated(one, found) or wording.NO_VERDICT}{_unbelieved(case)}" if found else UNTOLD
    known = case.attribution.pieces if case.attribution else ()
    share = next((piece.share for piece in known if piece.name == one.switch), None)
    return f"{wording.share(share.mean, share.low, share.high)}{_unbelieved(case)}" if share else UNTOLD


def _estimated(one: Finding, found: Compared) -> str:
    return TOLD[one.told](found)


def _short(case: Case, arm: str, found: Compared | None) -> str:
    if found is None or found.verdict is None:
        return f"{arm}: {wording.NO_VERDICT}"
    return f"{arm}: **{wording.kind(found)}**, {found.metric.name} {wording.effect(found)}{_unbelieved(case)}"


def _unbelieved(case: Case) -> str:
    return " (the session is invalid)" if invalid(case) else ""


def _alt(cases: Mapping[str, Case]) -> str:
    told = [
        f"{chapter}, {one.candidate}: {found.metric.name} {wording.effect(found)}{_unbelieved(case)}"
        for chapter, case in cases.items()
        for one in case.shown
        if (found := primary(one)) and found.verdict
    ]
    return f"Forest plot of what decides in each chapter: {'; '.join(told)}"


def _evidence(name: str, book: Book, cases: Mapping[str, Case]) -> str:
    rows: list[list[str]] = []
    judged = {each.metric.name for case in cases.values() for one in case.shown for each in one.figures}
    columns = [name for name in SHOWN if name in judged]
    for chapter in book.chapters:
        if chapter not in cases:
            rows.append([chapter, "", wording.UNMEASURED, *("" for _ in columns)])
            continue
        case, shown = cases[chapter], _link(name, chapter, chapter)
        for one in case.shown:
            found = {each.metric.name: each for each in one.figures}
            effects = [wording.effect(found[each]) if each in found else "" for each in columns]
            rows.append([shown, one.candidate, _decided(case, primary(one)), *effects])
            shown = ""
    head = ("chapter", "arm", "what decides, and the verdict", *columns)
    told = (
        "Each arm against its chapter's baseline, with intervals: of 95 %, or wider where a chapter could be judged "
        "more than once. What an arm is, and all other figures, are on the chapter's page. Chapters were measured one "
        "after the other: effects may be compared between them with care, milliseconds not at all."
    )
    legend = [f"**{each}**: {_about(each, cases)}" for each in columns]
    return "\n\n".join(filter(None, ["## Evidence", paragraph(told), table(head, rows, {*columns}), items(legend)]))


def _about(figure: str, cases: Mapping[str, Case]) -> str:
    """Say what a figure is; where functions of several chapters measure several things, what in which."""
    told: dict[str, list[str]] = {}
    for chapter, case in cases.items():
        if figure in case.asked.figures:
            told.setdefault(case.asked.described[figure].about, []).append(chapter)
    if len(told) == 1:
        return next(iter(told))
    return "; ".join(f"in {', '.join(chapters)}, {about}" for about, chapters in told.items())


def _decided(case: Case, found: Compared | None) -> str:
    if found is None:
        return wording.NO_VERDICT
    return f"{found.metric.name}: **{wording.stated(found, invalid=invalid(case))}**"


def _range(one: Claim) -> str:
    """Say of which effects a claim is true."""
    least, most = one.between
    match one.told:
        case Telling.SHARE:
            # Of a number just below one, little but what is left to it counts.
            return f" as a share, {(1 + least) * 100:.6g} to {(1 + most) * 100:.6g}"
        case Telling.FACTOR:
            return f" as a factor, {1 / (1 + most):.3g} to {1 / (1 + least):.3g}"
    if most >= ENDLESS:
        return f" {least * 100:+g} or more"
    return f" {most * 100:+g} or less" if least <= NOTHING_LEFT else f" {least * 100:+g} to {most * 100:+g}"


def _claims(name: str, book: Book, cases: Mapping[str, Case]) -> str:
    if not book.claims and not book.unmeasured:
        return ""
    rows = []
    for one in book.claims:
        found = _found(one, cases)
        ruling = ruled(one.between, found, has_a_way=one.told is not Telling.SHARE) if found else None
        lies = lying(one.between, found) if found else ""
        said = f"open: {_why_not(one, found, cases)}" if ruling is None else str(ruling)
        is_believed = one.chapter in cases and not invalid(cases[one.chapter])
        rows.append(
            [
                text(one.says),
                f"{_where(name, one, cases)}: {one.figure}{_range(one)}",
                _estimated(one, found) if found else "",
                lies,
                f"**{said}**" if is_believed or ruling is None else f"{said} (the session is invalid)",
                _told(one.why, cases),
            ]
        )
    rows += [[text(one.says), "", "", "", "**open: not measured**", _told(one.why, cases)] for one in book.unmeasured]
    sources = ", ".join(dict.fromkeys(text(one.source) for one in (*book.claims, *book.unmeasured)))
    told = (
        f"Claims of {sources}. Each was put as a range of effects (in %, of shares in points; as a factor: how many "
        "times as fast) before its chapter was measured, but where Limits say otherwise. *Confirmed*: all of our "
        "interval lies in the range. *Refined*: there is an effect in the claimed direction, however much larger or "
        "smaller, or one where none that matters was claimed, but not all of our interval lies in the range. "
        "*Refuted*: our interval lies outside the range, and does not surely point its way, as no share does. *Open*: "
        "anything else."
    )
    head = ("claim", "as a range", "ours [interval]", "ours lies", "ruling", "why")
    return "\n\n".join(["## What others found", paragraph(told), table(head, rows, {head[2]})])


def _cures(name: str, cures: Sequence[Cure], cases: Mapping[str, Case]) -> str:
    if not cures:
        return ""
    measured = [(one, found) for one in cures if (found := _found(one, cases)) and found.verdict]
    # What can be believed to bring most comes first, whichever way is better; what cannot be believed comes last.
    measured.sort(key=lambda pair: (not invalid(cases[pair[0].chapter]), _surely(pair[1])), reverse=True)
    rows = [
        [
            text(one.does),
            _where(name, one, cases),
            one.figure,
            wording.effect(found),
            wording.stated(found, invalid=invalid(cases[one.chapter])),
        ]
        for one, found in measured
    ]
    rows += [
        [
            text(one.does),
            _where(name, one, cases) if one.chapter in cases else one.chapter,
            one.figure,
            "",
            _why_not(one, found, cases),
        ]
        for one in cures
        if not (found := _found(one, cases)) or not found.verdict
    ]
    head = ("what to do", "measured in", "figure", "effect [interval]", "verdict")
    told = (
        "Ranked by what they surely bring: the worse end of the interval, as a factor. Each was measured under its "
        "chapter's load, against what stands beside it; only those of one chapter are comparable. Of many that do "
        "nothing, one in twenty would seem to make a difference."
    )
    return "\n\n".join(["## What can be done", paragraph(told), table(head, rows, {head[3]})])


def _surely(found: Compared) -> float:
    """Return by how much a figure is surely better; below zero if it may be worse."""
    assert found.verdict is not None
    return -found.verdict.high if found.metric.more_is_worse else found.verdict.low


def _why_not(one: Finding, found: Compared | None, cases: Mapping[str, Case]) -> str:
    if one.chapter not in cases:
        return wording.UNMEASURED
    return UNTOLD if found is None else found.why_not


def _where(name: str, one: Finding, cases: Mapping[str, Case]) -> str:
    against = f" against {one.against or cases[one.chapter].asked.baseline}" if one.chapter in cases else ""
    return f"{_link(name, one.chapter, one.chapter)}, {one.arm}{against}"


def _found(one: Finding, cases: Mapping[str, Case]) -> Compared | None:
    case = cases.get(one.chapter)
    if case is None:
        return None
    met = (one.against or case.asked.baseline, one.arm)
    ours = [
        found for two in case.judgement.comparisons if (two.baseline, two.candidate) == met for found in two.figures
    ]
    return next((found for found in ours if found.metric.name == one.figure), None)


def _limits(name: str, book: Book, cases: Mapping[str, Case]) -> str:
    said = [_told(one, cases) for one in book.limits]
    doubted: dict[str, list[str]] = {}
    for chapter, case in cases.items():
        for doubt in dict.fromkeys(one.name for one in case.doubts):
            doubted.setdefault(doubt, []).append(_link(name, chapter, chapter, "#limits"))
    for doubt, chapters in doubted.items():
        where = "all chapters" if len(chapters) == len(cases) > 1 else ", ".join(chapters)
        said.append(f"Doubt *{doubt}*, explained on the chapter's page: {where}.")
    return "\n\n".join(["## Limits", items(said)])


def _reproduce(name: str, book: Book, cases: Mapping[str, Case]) -> str:
    rows = [
        [
            chapter,
            day(case.summary),
            counted(pairs_done(case.summary), "pair"),
            duration(seconds(case.summary)),
            ", ".join(case.litellm),
            commit(case.summary),
        ]
        for chapter, case in cases.items()
    ]
    first = book.chapters[0]
    return "\n\n".join(
        [
            "## How to reproduce it",
            paragraph("This page, from the summaries that are committed; all chapters anew; or one of them:"),
            fenced(
                [
                    f"evenkeel report {name}",
                    f"evenkeel investigate {name} --fresh",
                    f"evenkeel investigate {name}/{first} --fresh",
                ],
                "console",
            ),
            table(("chapter", "measured", "pairs", "took", "LiteLLM", "commit"), rows) if rows else "",
        ]
    ).rstrip()


def _link(name: str, chapter: str, shown: str, anchor: str = "") -> str:
    return f"[{shown}]({folder_of(name)}/{chapter}.md{anchor})"
