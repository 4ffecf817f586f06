"""What others found, beside what was found here; and what may be said of their own runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table, text
from evenkeel_lab.report.sections.tables import figures, invalid
from evenkeel_lab.stats import Scale, wording
from evenkeel_lab.stats.compare import compare
from evenkeel_lab.stats.metrics import METRICS, ordered
from evenkeel_lab.stats.run_set import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.investigation_spec.investigation import Expected
    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.stats.compare import Compared

HEAD = ("figure", "claimed", "ours [interval]", "the claim lies", "our verdict")


def expected(case: Case, _: Mapping[str, str]) -> str:
    """Return a part for each source."""
    if not case.asked.expected:
        return ""
    return "\n\n".join(["## What others found", *(_source(case, one) for one in case.asked.expected)])


def _source(case: Case, one: Expected) -> str:
    parts = [paragraph(f"**{text(one.source)}**, of {one.arm} against {case.asked.baseline}: {text(one.claim)}")]
    if one.figures:
        parts.append(table(HEAD, [_claim(case, one, name) for name in ordered(list(one.figures))], HEAD[1:3]))
    if one.runs:
        parts += _runs(case, one)
    return "\n\n".join(parts)


def _claim(case: Case, one: Expected, name: str) -> list[str]:
    """Set what was claimed of a figure beside ours."""
    claim = one.figures[name]
    unit = "points" if METRICS[name].usual.scale is Scale.POINTS else "%"
    told = f"{claim * 100:+.3g} {unit}"
    ours = [found for other in case.candidates if other.candidate == one.arm for found in other.figures]
    found = next((found for found in ours if found.metric.name == name), None)
    if found is None:
        return [name, told, "", "", "not judged here"]
    if found.verdict is None:
        return [name, told, "", "", wording.verdict(found)]
    return [name, told, wording.effect(found), _where(found, claim), wording.stated(found, invalid=invalid(case))]


def _where(found: Compared, claim: float) -> str:
    low, high = found.ends
    return "below our interval" if claim < low else "above our interval" if claim > high else "within our interval"


def _runs(case: Case, one: Expected) -> list[str]:
    """Return the runs that were published, and what our own method says of them."""
    arms = sorted(one.runs, key=lambda arm: arm != case.asked.baseline)
    columns = [(arm, name) for arm in arms for name in ordered(list(one.runs[arm]))]
    if not any(one.runs[arm][name] for arm, name in columns):
        return [paragraph("Their runs were not published: there is nothing to judge.")]
    most = max(len(one.runs[arm][name]) for arm, name in columns)
    head = ["run", *(f"{arm} {name}" for arm, name in columns)]
    rows = [[str(number + 1), *(_run(case, one, column, number) for column in columns)] for number in range(most)]
    parts = [paragraph("Their runs, as they were published:"), table(head, rows, head)]
    if case.asked.baseline not in one.runs or one.arm not in one.runs:
        return [*parts, paragraph(f"They lack {case.asked.baseline} or {one.arm}, so that nothing can be compared.")]
    baseline, candidate = (_set(name, one) for name in (case.asked.baseline, one.arm))
    primary = case.asked.primary if {case.asked.primary} <= baseline.figures.keys() & candidate.figures.keys() else None
    if not baseline.figures.keys() & candidate.figures.keys():
        return [*parts, paragraph("No figure was published of both arms, so that nothing can be compared.")]
    found = compare(baseline, candidate, primary=primary, margins=case.asked.margins, described=case.asked.described)
    told = (
        "What our own method says of their runs: the n-th run of one arm is a pair with the n-th of the other, 95 % "
        "intervals. If they did not run side by side or in turns, what drifted in between counts as a difference."
    )
    return [*parts, paragraph(told), figures(found, invalid=False)]


def _run(case: Case, one: Expected, column: tuple[str, str], number: int) -> str:
    arm, name = column
    values = one.runs[arm][name]
    return wording.size(case.asked.described[name], values[number]) if number < len(values) else ""


def _set(arm: str, one: Expected) -> Runs:
    """Return an arm's runs: those that have all of the figures that were published of it."""
    told = {name: values for name, values in one.runs[arm].items() if values}
    count = min(map(len, told.values()), default=0)
    return Runs(arm, {name: values[:count] for name, values in told.items()})
