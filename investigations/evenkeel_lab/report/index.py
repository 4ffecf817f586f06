"""The index of all reports: what was found, and what has not been measured yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import items, paragraph, table, text
from evenkeel_lab.report.report_data import primary
from evenkeel_lab.report.sections.reproduce import commit, day
from evenkeel_lab.report.sections.tables import invalid
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.stats.compare import Comparison

HEAD = ("investigation", "question", "arm", "effect [interval]", "verdict", "measured")


def index(cases: Sequence[Case], waiting: Mapping[str, Investigation], books: Mapping[str, str] | None = None) -> str:
    """Return the page: books by their questions, investigations that were measured, and those that wait for it."""
    parts = ["# Reports", paragraph("What was measured, each with its own page. Made by `make reports`; not by hand.")]
    if books:
        parts.append(items([f"[{name}]({name}.md): {text(question)}" for name, question in books.items()]))
    if cases:
        parts.append(table(HEAD, [row for case in cases for row in _rows(case)], {HEAD[3]}))
    if waiting:
        parts.append("## Not measured yet")
        parts.append(items([f"{name}: {text(one.question)}" for name, one in waiting.items()]))
    if not cases and not waiting:
        parts.append(paragraph("There are no investigations yet."))
    return "\n\n".join(parts) + "\n"


def _rows(case: Case) -> list[list[str]]:
    """Return a row for each arm; what is the same in all of them stands in the first one."""
    name = case.summary.name
    shown = case.shown
    rows = [["", "", *_found(case, one), ""] for one in shown] or [[""] * len(HEAD)]
    ran = f"LiteLLM {', '.join(case.litellm)}" if case.litellm else ""
    measured = [day(case.summary), ran, str(case.summary.provenance.get("kernel", "")), commit(case.summary)]
    rows[0][:2] = [f"[{name}]({name}.md)", text(case.asked.question)]
    rows[0][-1] = text(", ".join(filter(None, measured)))
    return rows


def _found(case: Case, one: Comparison) -> list[str]:
    found = primary(one)
    if found is None:
        return [one.candidate, "", wording.NO_VERDICT]
    effect = f"{found.metric.name} {wording.effect(found)}" if found.verdict else ""
    return [one.candidate, effect, wording.stated(found, invalid=invalid(case))]
