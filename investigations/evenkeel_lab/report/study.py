"""Page of a study: the results of its chapters, the check of claims, and what operators can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted, duration
from evenkeel_lab.investigation_spec.quotation import Form
from evenkeel_lab.investigation_spec.study import ANSWERS
from evenkeel_lab.report.caveats import MEANINGS, pairs_done
from evenkeel_lab.report.claim_check import ClaimVerdict, check_comparison, interval_position
from evenkeel_lab.report.markdown import fenced, items, paragraph, picture, table, text
from evenkeel_lab.report.page import Page, folder_of
from evenkeel_lab.report.plots.answers import answers
from evenkeel_lab.report.plots.effects import alt_text
from evenkeel_lab.report.plots.study_figure import alt as figure_alt, study_figure
from evenkeel_lab.report.plots.style import svg
from evenkeel_lab.report.quoted_text import UNKNOWN, answer_box, compared_of, estimated, invalid_note, with_quotations
from evenkeel_lab.report.report_data import primary
from evenkeel_lab.report.sections.reproduce import commit, day, seconds
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Study
    from evenkeel_lab.investigation_spec.quotation import Finding
    from evenkeel_lab.investigation_spec.study import Claim, Cure
    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared

QUICK_NOTE = "**A first impression.** Runs were short and few, and no baseline was measured against itself."
# Metrics of the evidence table, if a chapter judges them.
METRICS = ("throughput", "p50", "p95", "mean", "cpu_ms", "prisma_calls", "value")
# A claimed range beyond these effects is open at that end.
NOTHING_LEFT, ENDLESS = -0.99, 99.0


def study_page(name: str, study: Study, by_chapter: Mapping[str, ReportData], *, quick: bool = False) -> Page:
    """Render the page of a study. Chapters that are not measured yet are shown as such."""
    by_chapter = {chapter: by_chapter[chapter] for chapter in study.chapters if chapter in by_chapter}
    drawn = answers(by_chapter)
    figures = {ANSWERS: svg(drawn, f"{name}-{ANSWERS}")} if drawn else {}
    command = "" if quick else f"evenkeel report {name}"
    chosen = []
    for shown in study.figures:
        drawn = study_figure(shown, by_chapter)
        if drawn:
            figures[shown.name] = svg(drawn, f"{name}-{shown.name}")
            chosen.append(picture(figure_alt(shown, by_chapter), f"{folder_of(name)}/{shown.name}.svg", command))
    parts = [
        f"# {text(study.title)}",
        paragraph(QUICK_NOTE) if quick else answer_box(study, by_chapter),
        *(paragraph(with_quotations(answer, by_chapter)) for answer in study.answer.strip().split("\n\n")),
        *chosen,
        picture(_alt(by_chapter), f"{folder_of(name)}/{ANSWERS}.svg", command) if ANSWERS in figures else "",
        f"## Question\n\n{paragraph(text(study.question))}" if quick or not study.short else "",
        f"## Method\n\n{paragraph(('Of the full study: ' if quick else '') + text(study.method))}",
        _evidence(name, study, by_chapter),
        _claims(name, study, by_chapter),
        _measures(name, study.cures, by_chapter),
        _limits(name, study, by_chapter),
        "" if quick else _reproduce(name, study, by_chapter),
    ]
    return Page(name, "\n\n".join(filter(None, parts)) + "\n", figures)


def _alt(by_chapter: Mapping[str, ReportData]) -> str:
    effects = [
        f"{chapter}, {comparison.candidate}: {compared.metric.name} {wording.effect(compared)}{invalid_note(data)}"
        for chapter, data in by_chapter.items()
        for comparison in data.shown
        if (compared := primary(comparison)) and compared.verdict
    ]
    return alt_text("Effects of each chapter on the metric that decides it", effects)


def _evidence(name: str, study: Study, by_chapter: Mapping[str, ReportData]) -> str:
    rows: list[list[str]] = []
    others = {
        each.metric.name
        for data in by_chapter.values()
        for comparison in data.shown
        for each in comparison.figures
        if each.verdict and not each.primary
    }
    columns = [name for name in METRICS if name in others]
    for chapter in study.chapters:
        if chapter not in by_chapter:
            rows.append([chapter, "", "", "", wording.UNMEASURED, *("" for _ in columns)])
            continue
        data = by_chapter[chapter]
        shown = f"{_link(name, chapter, chapter)}: {text(data.investigation.title)}"
        for comparison in data.shown:
            by_metric = {each.metric.name: each for each in comparison.figures if not each.primary}
            effects = [wording.effect(by_metric[each]) if each in by_metric else "" for each in columns]
            arms = f"{comparison.candidate} against {comparison.baseline}"
            rows.append([shown, arms, *_decided(data, primary(comparison)), *effects])
            shown = ""
    head = ("chapter", "arms", "decides", "effect [interval]", "verdict", *columns)
    method = (
        "Intervals are of 95 %, or wider if a chapter could be judged more than once. The pages of the chapters "
        "describe the arms. Chapters were measured one after the other, so do not compare their milliseconds."
    )
    legend = [f"**{each}**: {_about(each, by_chapter)}" for each in _metrics_of(by_chapter, columns)]
    evidence = table(head, rows, {head[3], *columns}, drops_empty=True)
    return "\n\n".join(filter(None, ["## Evidence", paragraph(method), evidence, items(legend)]))


def _decided(data: ReportData, compared: Compared | None) -> tuple[str, str, str]:
    """Return the metric that decides, its effect and the verdict."""
    if compared is None:
        return "", "", wording.NO_VERDICT
    verdict = wording.stated(compared, invalid=data.is_invalid)
    return compared.metric.name, wording.effect(compared), f"**{verdict}**"


def _metrics_of(by_chapter: Mapping[str, ReportData], columns: Sequence[str]) -> list[str]:
    """Return the names of all metrics in the evidence table: those that decide, then those of the columns."""
    deciding = [data.investigation.primary for data in by_chapter.values()]
    return list(dict.fromkeys([*deciding, *columns]))


def _about(figure: str, by_chapter: Mapping[str, ReportData]) -> str:
    """Return what a metric measures, by chapter if chapters measure different things with it."""
    chapters_by_text: dict[str, list[str]] = {}
    for chapter, data in by_chapter.items():
        if figure in data.investigation.figures:
            chapters_by_text.setdefault(data.investigation.described[figure].about, []).append(chapter)
    if len(chapters_by_text) == 1:
        return next(iter(chapters_by_text))
    return "; ".join(f"in {', '.join(chapters)}, {about}" for about, chapters in chapters_by_text.items())


def _range(claim: Claim) -> str:
    """Return the claimed range as text."""
    least, most = claim.between
    match claim.form:
        case Form.SHARE:
            # Shares close to 0 need more digits than other effects.
            return f" as a share, {(1 + least) * 100:.6g} to {(1 + most) * 100:.6g}"
        case Form.FACTOR:
            return f" as a factor, {1 / (1 + most):.3g} to {1 / (1 + least):.3g}"
    if most >= ENDLESS:
        return f" {least * 100:+g} or more"
    return f" {most * 100:+g} or less" if least <= NOTHING_LEFT else f" {least * 100:+g} to {most * 100:+g}"


def _claims(name: str, study: Study, by_chapter: Mapping[str, ReportData]) -> str:
    if not study.claims and not study.unmeasured:
        return ""
    rows = []
    for claim in study.claims:
        compared = compared_of(claim, by_chapter)
        position = interval_position(claim.between, compared) if compared else ""
        ruling = ruling_of(claim, by_chapter)
        shown = f"{ruling.verdict}: {ruling.why_not}" if ruling.why_not else str(ruling.verdict)
        rows.append(
            [
                text(claim.says),
                f"{_where(name, claim, by_chapter)}: {claim.figure}{_range(claim)}",
                ruling.effect,
                position,
                f"**{shown}**" if ruling.is_believed else f"{shown} (the session is invalid)",
                with_quotations(claim.why, by_chapter),
            ]
        )
    rows += [
        [text(claim.says), "", "", "", "**open: not measured**", with_quotations(claim.why, by_chapter)]
        for claim in study.unmeasured
    ]
    sources = "; ".join(dict.fromkeys(text(claim.source) for claim in (*study.claims, *study.unmeasured)))
    has_factors = any(claim.form is Form.FACTOR for claim in study.claims)
    factors = "; a factor is how many times as fast" if has_factors else ""
    method = (
        f"Sources of the claims: {sources}. Each was written as a range of effects before its chapter was measured, "
        f"unless Limits say otherwise: in %, of shares in points{factors}. *Confirmed*: the whole interval is in the "
        "range. *Refined*: there is an effect in the claimed direction, but its size is another one or uncertain. "
        "*Refuted*: the whole interval is outside the range, and no effect in the claimed direction is shown. *Open*: "
        "anything else."
    )
    head = ["claim", "as a range", "measured [interval]", "the interval is", "ruling", "why"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return "\n\n".join(["## Published claims", paragraph(method), table(head, rows, {head[2]})])


@dataclass(frozen=True)
class Ruling:
    """The verdict on a claim, and the effect that was measured."""

    verdict: ClaimVerdict
    effect: str
    why_not: str = ""
    """Why there is no verdict; empty if there is one."""
    is_believed: bool = True
    """Whether the session is valid."""


def ruling_of(claim: Claim, by_chapter: Mapping[str, ReportData]) -> Ruling:
    """Check a claim against the results of its chapter."""
    compared = compared_of(claim, by_chapter)
    if compared is None or compared.verdict is None:
        effect = estimated(claim, compared) if compared else ""
        return Ruling(ClaimVerdict.OPEN, effect, _why_not(claim, compared, by_chapter))
    verdict = check_comparison(claim.between, compared, has_direction=claim.form is not Form.SHARE)
    assert verdict is not None
    return Ruling(verdict, estimated(claim, compared), is_believed=not by_chapter[claim.chapter].is_invalid)


def _measures(name: str, cures: Sequence[Cure], by_chapter: Mapping[str, ReportData]) -> str:
    if not cures:
        return ""
    measured = [(cure, compared) for cure in cures if (compared := compared_of(cure, by_chapter)) and compared.verdict]
    # The largest certain improvement comes first. Results of invalid sessions come last.
    measured.sort(
        key=lambda pair: (not by_chapter[pair[0].chapter].is_invalid, _certain_improvement(pair[1])), reverse=True
    )
    rows = [
        [
            text(cure.does),
            _where(name, cure, by_chapter),
            cure.figure,
            wording.effect(compared),
            wording.stated(compared, invalid=by_chapter[cure.chapter].is_invalid),
        ]
        for cure, compared in measured
    ]
    rows += [
        [
            text(cure.does),
            _where(name, cure, by_chapter) if cure.chapter in by_chapter else cure.chapter,
            cure.figure,
            "",
            _why_not(cure, compared, by_chapter),
        ]
        for cure in cures
        if not (compared := compared_of(cure, by_chapter)) or not compared.verdict
    ]
    head = ("remedy", "measured in", "metric", "effect [interval]", "verdict")
    method = (
        "Ranked by the worse end of the interval. Each remedy was measured under the load of its chapter, so only "
        "those of one chapter can be compared. Of twenty remedies that do nothing, one seems to help by chance."
    )
    return "\n\n".join(["## Remedies", paragraph(method), table(head, rows, {head[3]})])


def _certain_improvement(compared: Compared) -> float:
    """Return the end of the interval that is worse, as improvement; negative if the metric may be worse."""
    assert compared.verdict is not None
    return -compared.verdict.high if compared.metric.more_is_worse else compared.verdict.low


def _why_not(finding: Finding, compared: Compared | None, by_chapter: Mapping[str, ReportData]) -> str:
    if finding.chapter not in by_chapter:
        return wording.UNMEASURED
    return UNKNOWN if compared is None else compared.why_not


def _where(name: str, finding: Finding, by_chapter: Mapping[str, ReportData]) -> str:
    against = (
        f" against {finding.against or by_chapter[finding.chapter].investigation.baseline}"
        if finding.chapter in by_chapter
        else ""
    )
    return f"{_link(name, finding.chapter, finding.chapter)}, {finding.arm}{against}"


def _limits(name: str, study: Study, by_chapter: Mapping[str, ReportData]) -> str:
    limits = [with_quotations(limit, by_chapter) for limit in study.limits]
    chapters_by_caveat: dict[str, list[str]] = {}
    for chapter, data in by_chapter.items():
        for caveat_name in dict.fromkeys(caveat.name for caveat in data.caveats):
            chapters_by_caveat.setdefault(caveat_name, []).append(_link(name, chapter, chapter, "#limits"))
    for caveat_name, chapters in chapters_by_caveat.items():
        where = "all chapters" if len(chapters) == len(by_chapter) > 1 else ", ".join(chapters)
        limits.append(f"{MEANINGS[caveat_name]}: {where}.")
    return "\n\n".join(["## Limits", items(limits)])


def _reproduce(name: str, study: Study, by_chapter: Mapping[str, ReportData]) -> str:
    rows = [
        [
            chapter,
            day(data.summary),
            counted(pairs_done(data.summary), "pair"),
            duration(seconds(data.summary)),
            ", ".join(data.litellm),
            commit(data.summary),
        ]
        for chapter, data in by_chapter.items()
    ]
    first = study.chapters[0]
    return "\n\n".join(
        [
            "## Reproduce",
            paragraph("This page from the committed summaries; all chapters again; one chapter again:"),
            fenced(
                [
                    f"evenkeel report {name}",
                    f"evenkeel investigate {name} --fresh",
                    f"evenkeel investigate {name}/{first} --fresh",
                ],
                "console",
            ),
            table(("chapter", "measured", "pairs", "took", "LiteLLM", "commit"), rows, drops_empty=True),
        ]
    ).rstrip()


def _link(name: str, chapter: str, shown: str, anchor: str = "") -> str:
    return f"[{shown}]({folder_of(name)}/{chapter}.md{anchor})"
