"""What the rig cannot tell from nothing, and what it costs by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted, how_often
from evenkeel_lab.investigation_spec.investigation import DIRECT
from evenkeel_lab.report.markdown import paragraph, table
from evenkeel_lab.report.sections.tables import invalid
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import METRICS, ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.report.report_data import Case

# What stands between a client and the mock is told in latencies.
TOLD = ("p50", "p90", "p95", "p99", "mean")


def noise(case: Case, _: Mapping[str, str]) -> str:
    """Set the baseline beside its twin, and beside the mock alone."""
    parts = [part for part in (_floor(case), _rig(case)) if part]
    return "\n\n".join(["## What the rig can tell", *parts]) if parts else ""


def _floor(case: Case) -> str:
    one = case.noise
    if one is None or not one.figures:
        return ""
    rows = [
        [
            f"**{found.metric.name}**" if found.primary else found.metric.name,
            wording.effect(found),
            wording.margin(found),
            wording.detectable(found),
            wording.stated(found, invalid=invalid(case)),
        ]
        for found in one.figures
    ]
    head = ("figure", "effect [interval]", "margin", "detectable", "verdict")
    told = (
        f"Noise floor: {one.baseline} against a second proxy that is the same, {counted(one.pairs, 'pair')}. Whatever "
        "differs here is noise. Where an interval reaches beyond the margin, a difference of about the margin's size "
        "could be missed by this session, or made up; one of several times that could not. (*No measurable "
        "difference* is judged by a narrower interval than the one that is shown, as equivalence is.)"
    )
    return "\n\n".join([paragraph(told), table(head, rows, set(head[1:4]))])


def _rig(case: Case) -> str:
    runs = [run for meeting in case.summary.done.values() for run in meeting if not run.limited]
    alone = [run.figures for run in runs if run.arm == DIRECT]
    baseline = [run.figures for run in runs if run.arm == case.asked.baseline]
    if not alone or not baseline:
        return ""
    rows = []
    for name in ordered(TOLD):
        if all(name in told for told in (*alone, *baseline)):
            first, second = _middle(name, alone), _middle(name, baseline)
            amounts = [wording.size(METRICS[name], value) for value in (first, second)]
            rows.append([name, *amounts, f"{first / second * 100:.3g} %" if second else ""])
    if not rows:
        return ""
    told = (
        f"The mock alone, loaded in the same way {how_often(len(alone))}: what of the baseline's figures is the load, "
        "the mock and the machine, and not the proxy."
    )
    head = ("figure", "the mock alone", case.asked.baseline, "share")
    return "\n\n".join([paragraph(told), table(head, rows, set(head[1:]))])


def _middle(name: str, told: Sequence[Mapping[str, float]]) -> float:
    return wording.middle([one[name] for one in told], METRICS[name].usual.scale)
