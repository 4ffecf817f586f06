"""Section on the rig: its noise floor, and its own cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted, how_often
from evenkeel_lab.investigation_spec.investigation import DIRECT
from evenkeel_lab.report.markdown import paragraph, table
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import METRICS, ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.report.report_data import ReportData

# The share of the load and the mock is shown for latencies only.
LATENCIES = ("p50", "p90", "p95", "p99", "mean")


def noise(data: ReportData, _: Mapping[str, str]) -> str:
    """Return the comparison of the baseline with its twin, and with the mock alone."""
    parts = [part for part in (_floor(data), _mock_alone(data)) if part]
    return "\n\n".join(["## Noise and the cost of the test setup", *parts]) if parts else ""


def _floor(data: ReportData) -> str:
    comparison = data.noise
    if comparison is None or not comparison.figures:
        return ""
    rows = [
        [
            f"**{compared.metric.name}**" if compared.primary else compared.metric.name,
            wording.effect(compared),
            wording.margin(compared),
            wording.detectable(compared),
            wording.stated(compared, invalid=data.is_invalid),
        ]
        for compared in comparison.figures
    ]
    head = ("metric", "effect [interval]", "margin", "detectable", "verdict")
    pairs = counted(comparison.pairs, comparison.unit)
    method = (
        f"Two equal proxies, {comparison.baseline} and again, in {pairs}: every difference here is noise. Where an "
        "interval reaches beyond the margin, this session may miss a difference as large as the margin, or show one "
        "that is noise."
    )
    return "\n\n".join([paragraph(method), table(head, rows, set(head[1:4]))])


def _mock_alone(data: ReportData) -> str:
    runs = [run for of_pair in data.summary.done.values() for run in of_pair if not run.limited]
    alone = [run.figures for run in runs if run.arm == DIRECT]
    baseline = [run.figures for run in runs if run.arm == data.investigation.baseline]
    if not alone or not baseline:
        return ""
    rows = []
    for name in ordered(LATENCIES):
        if all(name in metrics for metrics in (*alone, *baseline)):
            first, second = _middle(name, alone), _middle(name, baseline)
            amounts = [wording.size(METRICS[name], value) for value in (first, second)]
            rows.append([name, *amounts, f"{first / second * 100:.3g} %" if second else ""])
    if not rows:
        return ""
    method = (
        f"The mock provider alone under the same load, {how_often(len(alone))}. This part of the baseline's latency is "
        "the test setup, not the proxy."
    )
    head = ("metric", "the mock alone", data.investigation.baseline, "share")
    return "\n\n".join([paragraph(method), table(head, rows, set(head[1:]))])


def _middle(name: str, runs: Sequence[Mapping[str, float]]) -> float:
    return wording.middle([run[name] for run in runs], METRICS[name].usual.scale)
