"""Forest plot: effects with intervals and margins, one row for each metric and comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.report.plots.effects import Row, alt_text, draw_effects, key, panels
from evenkeel_lab.report.plots.style import headline, looks, named, short, styled
from evenkeel_lab.stats import alpha_per_look, wording
from evenkeel_lab.stats.metrics import ordered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.stats.compare import Comparison

# More rows than this are no figure any more. The tables of the page have the rest.
MOST_ROWS = 44


@styled
def forest(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw the effects with intervals and margins, the metric that decides first. Return `None` without verdicts."""
    groups = [
        group for group in _groups(summary, judgement) if any(row.compared and row.compared.verdict for row in group)
    ]
    if not groups:
        return None
    shown: list[list[Row]] = []
    rows = 0
    for group in groups:
        rows += len(group)
        if shown and rows > MOST_ROWS:
            break
        shown.append(group)
    in_panels = panels(shown)
    drawn = draw_effects(in_panels, looks(summary.investigation))
    sure = (1 - alpha_per_look(summary.investigation.session.looks)) * 100
    baseline = summary.investigation.baseline
    has_others = any(comparison.baseline != baseline for comparison in judgement.comparisons)
    others = ", or from the arm after \u201cvs\u201d" if has_others else ""
    rest = len(groups) - len(shown)
    more = f"The tables have {rest} more metric{'' if rest == 1 else 's'}." if rest else ""
    what = "Parts of" if all(panel.is_part for panel in in_panels) else "Difference from"
    explained = " ".join(filter(None, (key(in_panels), more)))
    headline(drawn, f"{what} {short(baseline)}{others}, with {sure:.3g} % intervals\n{explained}".rstrip(), judgement)
    return drawn


def alt(summary: Summary, judgement: Judgement) -> str:
    """Return the alt text."""
    baseline, primary = summary.investigation.baseline, summary.investigation.primary
    effects = []
    for comparison in judgement.comparisons:
        decisive = [compared for compared in comparison.figures if compared.primary] or comparison.figures[:1]
        if comparison.baseline == baseline and decisive:
            effect = wording.effect(decisive[0]) or wording.NO_VERDICT
            effects.append(f"{named(comparison.candidate, baseline)} {effect}")
    return alt_text(f"{summary.investigation.described[primary].title} against {baseline}", effects)


def _groups(summary: Summary, judgement: Judgement) -> list[list[Row]]:
    """Return a heading and the rows of each metric, the primary metric first. The equal proxy comes last in each."""
    investigation = summary.investigation
    names = [
        investigation.primary,
        *(name for name in ordered(list(investigation.figures)) if name != investigation.primary),
    ]
    groups = []
    for name in names:
        rows = [
            Row(_label(investigation.baseline, comparison), comparison.candidate, compared)
            for comparison in judgement.comparisons
            for compared in comparison.figures
            if compared.metric.name == name
        ]
        if rows:
            rows.sort(key=lambda row: row.arm == AGAIN)
            groups.append(
                [
                    Row(f"{investigation.described[name].title}{', decides' if name == investigation.primary else ''}"),
                    *rows,
                ]
            )
    return groups


def _label(baseline: str, comparison: Comparison) -> str:
    if comparison.baseline == baseline:
        return named(comparison.candidate, baseline)
    return f"{short(comparison.candidate)} vs {short(comparison.baseline)}"
