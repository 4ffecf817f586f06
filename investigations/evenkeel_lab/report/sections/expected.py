"""Section on published results: claims beside our results, and verdicts on the published runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table, text
from evenkeel_lab.report.sections.tables import metrics_table
from evenkeel_lab.stats import Scale, wording
from evenkeel_lab.stats.compare import compare
from evenkeel_lab.stats.metrics import METRICS, ordered
from evenkeel_lab.stats.run_set import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.investigation_spec.investigation import Expected
    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared

HEAD = ("metric", "claimed", "measured [interval]", "the claim is", "verdict")


def expected(data: ReportData, _: Mapping[str, str]) -> str:
    """Return one part per source."""
    if not data.investigation.expected:
        return ""
    return "\n\n".join(["## Published results", *(_source(data, claim) for claim in data.investigation.expected)])


def _source(data: ReportData, claim: Expected) -> str:
    parts = [
        paragraph(f"**{text(claim.source)}** on {claim.arm} against {data.investigation.baseline}: {text(claim.claim)}")
    ]
    if claim.figures:
        parts.append(table(HEAD, [_claim(data, claim, name) for name in ordered(list(claim.figures))], HEAD[1:3]))
    if claim.runs:
        parts += _runs(data, claim)
    return "\n\n".join(parts)


def _claim(data: ReportData, claim: Expected, name: str) -> list[str]:
    """Return a row with the claimed value of a metric beside ours."""
    value = claim.figures[name]
    unit = "points" if METRICS[name].usual.scale is Scale.POINTS else "%"
    shown = f"{value * 100:+.3g} {unit}"
    ours = [
        compared
        for comparison in data.candidates
        if comparison.candidate == claim.arm
        for compared in comparison.figures
    ]
    compared = next((compared for compared in ours if compared.metric.name == name), None)
    if compared is None:
        return [name, shown, "", "", "not judged here"]
    if compared.verdict is None:
        return [name, shown, "", "", wording.verdict(compared)]
    return [
        name,
        shown,
        wording.effect(compared),
        _position(compared, value),
        wording.stated(compared, invalid=data.is_invalid),
    ]


def _position(compared: Compared, claim: float) -> str:
    low, high = compared.ends
    return "below our interval" if claim < low else "above our interval" if claim > high else "within our interval"


def _runs(data: ReportData, claim: Expected) -> list[str]:
    """Return the published runs, and their verdicts by our method."""
    arms = sorted(claim.runs, key=lambda arm: arm != data.investigation.baseline)
    columns = [(arm, name) for arm in arms for name in ordered(list(claim.runs[arm]))]
    if not any(claim.runs[arm][name] for arm, name in columns):
        return [paragraph("Their runs were not published.")]
    most = max(len(claim.runs[arm][name]) for arm, name in columns)
    head = ["run", *(f"{arm} {name}" for arm, name in columns)]
    rows = [[str(number + 1), *(_run(data, claim, column, number) for column in columns)] for number in range(most)]
    parts = [paragraph("Their published runs:"), table(head, rows, head)]
    if data.investigation.baseline not in claim.runs or claim.arm not in claim.runs:
        return [
            *parts,
            paragraph(f"They lack {data.investigation.baseline} or {claim.arm}, so there is nothing to compare."),
        ]
    baseline, candidate = (_set(name, claim) for name in (data.investigation.baseline, claim.arm))
    primary = (
        data.investigation.primary
        if {data.investigation.primary} <= baseline.figures.keys() & candidate.figures.keys()
        else None
    )
    if not baseline.figures.keys() & candidate.figures.keys():
        return [*parts, paragraph("No metric was published of both arms, so there is nothing to compare.")]
    comparison = compare(
        baseline, candidate, primary=primary, margins=data.investigation.margins, described=data.investigation.described
    )
    method = (
        "Our method applied to their runs, with 95 % intervals. The n-th run of one arm makes a pair with the n-th of "
        "the other. If they did not run at the same time or in turns, drift in between counts as a difference."
    )
    return [*parts, paragraph(method), metrics_table(comparison, is_invalid=False)]


def _run(data: ReportData, claim: Expected, column: tuple[str, str], number: int) -> str:
    arm, name = column
    values = claim.runs[arm][name]
    return wording.size(data.investigation.described[name], values[number]) if number < len(values) else ""


def _set(arm: str, claim: Expected) -> Runs:
    """Return the published runs of an arm, cut to those that have all of its metrics."""
    values_by_metric = {name: values for name, values in claim.runs[arm].items() if values}
    count = min(map(len, values_by_metric.values()), default=0)
    return Runs(arm, {name: values[:count] for name, values in values_by_metric.items()})
