"""Page of the findings to know first: one figure, and a table with a link to each investigation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.report.markdown import paragraph, picture, table, text
from evenkeel_lab.report.page import Page
from evenkeel_lab.report.plots.effects import Row, alt_text, draw_effects, panels
from evenkeel_lab.report.plots.style import COLOURS, MARKERS, Look, headline, styled, svg
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from evenkeel_lab.investigation_spec.overview import KeyFinding, Overview
    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared

NAME, FIGURE = "overview", "effects"
HEAD = ("change", "metric", "effect [interval]", "verdict", "measured in")
ABOUT = (
    "The most important results of all investigations, each with its 95 % interval. The page of an investigation says "
    "what was compared, under which load, and with which version of LiteLLM."
)
LOOK = {"": Look(COLOURS[0], MARKERS[0], "-")}


def overview_page(overview: Overview, by_name: Mapping[str, ReportData]) -> Page:
    """Render the page. Findings of investigations that were not measured yet are left out."""
    measured = [
        (finding, by_name[finding.investigation], _compared(finding, by_name[finding.investigation]))
        for finding in overview.findings
        if finding.investigation in by_name
    ]
    rows = [
        [
            text(finding.says),
            title(finding.metric),
            wording.effect(compared),
            wording.stated(compared, invalid=data.is_invalid),
            f"[{finding.investigation}]({finding.investigation}.md)",
        ]
        for finding, data, compared in measured
    ]
    parts = ["# What we know", paragraph(ABOUT)]
    figures = {}
    if measured:
        figures = {FIGURE: svg(_draw([(finding, compared) for finding, _, compared in measured]), NAME)}
        effects = [f"{finding.says} {wording.effect(compared)}" for finding, _, compared in measured]
        alt = alt_text("What a change does", effects)
        parts += [picture(alt, f"{NAME}/{FIGURE}.svg", "evenkeel report"), table(HEAD, rows, {HEAD[2]})]
    return Page(NAME, "\n\n".join(parts) + "\n", figures)


def _compared(finding: KeyFinding, data: ReportData) -> Compared:
    """Return the comparison with the baseline. Raise if there is none with a verdict."""
    for comparison in data.shown:
        for compared in comparison.figures:
            if (comparison.candidate, compared.metric.name) == (finding.arm, finding.metric) and compared.verdict:
                return compared
    raise WrongUse(
        f"overview.toml: {finding.investigation} has no verdict on {finding.metric} of {finding.arm}.",
        hint=f"See its page: evenkeel report {finding.investigation}",
    )


@styled
def _draw(findings: Sequence[tuple[KeyFinding, Compared]]) -> Figure:
    by_metric: dict[str, list[Row]] = {}
    for finding, compared in findings:
        by_metric.setdefault(finding.metric, [Row(title(finding.metric))]).append(Row(finding.says, "", compared))
    drawn = draw_effects(panels(list(by_metric.values())), LOOK)
    headline(drawn, "What a change does, with 95 % intervals. Grey: too small to matter. Hollow: not settled")
    return drawn
