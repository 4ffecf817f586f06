"""Index of all reports: the results, and the investigations that are not measured yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import items, paragraph, table, text
from evenkeel_lab.report.report_data import primary
from evenkeel_lab.report.sections.reproduce import commit, day
from evenkeel_lab.report.sections.tables import is_invalid
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared, Comparison

HEAD = ("investigation", "question", "arm", "effect [interval]", "verdict", "measured")


def index(
    measured: Sequence[ReportData], waiting: Mapping[str, Investigation], studies: Mapping[str, str] | None = None
) -> str:
    """Return the page with studies by their question, `measured` investigations, and those `waiting` for it."""
    parts = ["# Reports", paragraph("What was measured, each with its own page. Made by `make reports`; not by hand.")]
    if studies:
        parts.append(items([f"[{name}]({name}.md): {text(question)}" for name, question in studies.items()]))
    if measured:
        parts.append(paragraph(_same_proxies(measured)))
        parts.append(table(HEAD, [row for data in measured for row in _rows(data)], {HEAD[3]}))
    if waiting:
        parts.append("## Not measured yet")
        parts.append(items([f"{name}: {text(investigation.question)}" for name, investigation in waiting.items()]))
    if not measured and not waiting:
        parts.append(paragraph("There are no investigations yet."))
    return "\n\n".join(parts) + "\n"


def _same_proxies(measured: Sequence[ReportData]) -> str:
    """Return how often a second proxy that is the same as the baseline seemed to differ from it."""
    repeated = [data.noise for data in measured if data.noise is not None]
    all_figures = [
        compared for comparison in repeated for compared in comparison.figures if compared.verdict is not None
    ]
    deciding = [compared for compared in all_figures if compared.primary]
    return (
        f"In {len(repeated)} sessions, the baseline was compared with a second proxy that is the same. In "
        f"{sum(map(_differs, deciding))} of {len(deciding)}, the figure that decides differed (its interval excludes "
        f"zero), and of all figures {sum(map(_differs, all_figures))} of {len(all_figures)} did; by chance one in "
        "twenty would. A difference that is larger than the margin, or may be, makes a session invalid. A smaller one "
        "is its noise floor, which the page states."
    )


def _differs(compared: Compared) -> bool:
    assert compared.verdict is not None
    return compared.verdict.low > 0 or compared.verdict.high < 0


def _rows(data: ReportData) -> list[list[str]]:
    """Return one row per arm. The first row holds what all of them share."""
    name = data.summary.name
    shown = data.shown
    rows = [["", "", *_result_cells(data, comparison), ""] for comparison in shown] or [[""] * len(HEAD)]
    ran = f"LiteLLM {', '.join(data.litellm)}" if data.litellm else ""
    measured = [day(data.summary), ran, str(data.summary.provenance.get("kernel", "")), commit(data.summary)]
    rows[0][:2] = [f"[{name}]({name}.md)", text(data.investigation.question)]
    rows[0][-1] = text(", ".join(filter(None, measured)))
    return rows


def _result_cells(data: ReportData, comparison: Comparison) -> list[str]:
    compared = primary(comparison)
    if compared is None:
        return [comparison.candidate, "", wording.NO_VERDICT]
    effect = f"{compared.metric.name} {wording.effect(compared)}" if compared.verdict else ""
    return [comparison.candidate, effect, wording.stated(compared, invalid=is_invalid(data))]
