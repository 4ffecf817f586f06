"""A session as pandas frames: what was found, in the shape in which pandas and matplotlib take it.

Nothing is computed here that another part computes: effects, intervals and costs come from who judges them. Effects,
margins and shares are shares: 0.05 is 5 %, or five points.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from evenkeel_lab.runner.results.ablation import attribute
from evenkeel_lab.runner.results.analysis import paired
from evenkeel_lab.runner.schedule import schedule
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.compare import compare
from evenkeel_lab.stats.metrics import METRICS, ordered
from evenkeel_lab.stats.rounding import steady
from evenkeel_lab.stats.run_set import Runs
from evenkeel_lab.stats.wording import NO_VERDICT, middle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.investigation_spec.investigation import Expected
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.ablation import Amount
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.runner.schedule import ScheduledPair
    from evenkeel_lab.stats.compare import Compared, Comparison

NS_PER_SECOND = 1e9
RUNS = ("meeting", "pair", "arm", "turn", "at_s", "seconds", "requests", "cores", "cpu_s", "provider", "limited")
PAIRS = ("baseline", "candidate", "pair", "figure", "baseline_value", "candidate_value", "difference", "effect")
VERDICTS = (
    *("baseline", "candidate", "figure", "unit", "scale", "primary", "pairs", "baseline_value", "candidate_value"),
    *("effect", "low", "high", "margin", "kind", "why_not", "detectable", "more_pairs"),
    *("p", "p_permutation", "spread", "alpha"),
)
QUANTILES = ("meeting", "pair", "arm", "share", "latency_ms", "limited")
COSTS = (
    *("figure", "unit", "piece", "about", "cost", "low", "high"),
    *("share", "share_low", "share_high", "left", "left_low", "left_high"),
)
EXPECTED = (
    *("source", "claim", "arm", "figure", "claimed"),
    *("published", "published_low", "published_high", "published_pairs"),
    *("effect", "low", "high", "kind"),
)


def runs(summary: Summary) -> pd.DataFrame:
    """Return one row for each run, in the order in which they ran, with a column for each of its figures."""
    found = list(_runs(summary))
    began = min((run.start_ns for _, _, run in found), default=0)
    figures = ordered(sorted({name for _, _, run in found for name in run.figures}))
    rows = [
        {
            "meeting": meeting.name,
            "pair": meeting.pair,
            "arm": run.arm,
            "turn": turn,
            "at_s": (run.start_ns - began) / NS_PER_SECOND,
            "seconds": run.seconds,
            "requests": run.requests,
            "cores": ",".join(map(str, run.cores)),
            "cpu_s": sum(run.cpu.values()) if run.cpu else math.nan,
            "provider": run.provider,
            "limited": _reasons(run),
            **run.figures,
        }
        for meeting, turn, run in found
    ]
    frame = _frame(rows, (*RUNS, *figures))
    return frame.sort_values(["at_s", "turn"], kind="stable", ignore_index=True)


def pairs(summary: Summary, judgement: Judgement) -> pd.DataFrame:
    """Return one row for each valid pair and figure: both values, their difference as it is judged, and the effect."""
    rows = []
    for one in judgement.comparisons:
        valid, _ = paired(summary.investigation, summary.done, last_look(summary), one.baseline, one.candidate)
        numbers = [number for number, _, _ in valid]
        for found in one.figures:
            told = {"baseline": one.baseline, "candidate": one.candidate, "figure": found.metric.name}
            values = zip(numbers, found.baseline, found.candidate, _differences(found), strict=True)
            rows += [
                told
                | {"pair": number, "baseline_value": first, "candidate_value": second, "difference": difference}
                | {"effect": found.margin.effect(difference)}
                for number, first, second, difference in values
            ]
    return _frame(rows, PAIRS)


def verdicts(judgement: Judgement) -> pd.DataFrame:
    """Return one row for each two arms and figure: what may be said of them."""
    rows = [_verdict(one, found) for one in judgement.comparisons for found in one.figures]
    return _frame(rows, VERDICTS).astype({"more_pairs": "Int64", "primary": bool})


def quantiles(summary: Summary) -> pd.DataFrame:
    """Return one row for each run and share of its requests: the latency that they kept to."""
    rows = [
        {
            "meeting": meeting.name,
            "pair": meeting.pair,
            "arm": run.arm,
            "share": float(share),
            "latency_ms": latency,
            "limited": _reasons(run),
        }
        for meeting, _, run in _runs(summary)
        if run.arm in summary.sketches.get(meeting.name, {})
        for share, latency in summary.sketches[meeting.name][run.arm].quantiles.items()
    ]
    return _frame(rows, QUANTILES)


def costs(summary: Summary) -> pd.DataFrame:
    """Return one row for each figure and part of the full arm's cost, the total first, in the figure's own unit."""
    rows = []
    for name in ordered(list(summary.investigation.figures)):
        found = attribute(summary.investigation, summary.done, last_look(summary), name)
        if found is None:
            continue
        told = {"figure": name, "unit": METRICS[name].unit}
        rows.append(told | {"piece": "total", "about": "all of it"} | _amount("cost", found.total))
        for piece in [*found.pieces, *([found.rest] if found.rest else [])]:
            amounts = _amount("cost", piece.cost) | _amount("share", piece.share) | _amount("left", piece.left)
            rows.append(told | {"piece": piece.name, "about": piece.about} | amounts)
    return _frame(rows, COSTS)


def expected(summary: Summary, judgement: Judgement) -> pd.DataFrame:
    """Return one row for each figure that others have told: what they claim, what their runs say, what ours say."""
    ours = {
        (one.candidate, found.metric.name): found
        for one in judgement.comparisons
        if one.baseline == summary.investigation.baseline
        for found in one.figures
    }
    rows = []
    for one in summary.investigation.expected:
        theirs = _published(summary, one)
        for name in ordered([*one.figures, *theirs]):
            published = _told(theirs.get(name))
            told = {
                "source": one.source,
                "claim": one.claim,
                "arm": one.arm,
                "figure": name,
                "claimed": one.figures.get(name, math.nan),
                "published": published["effect"],
                "published_low": published["low"],
                "published_high": published["high"],
                "published_pairs": len(theirs[name].baseline) if name in theirs else 0,
            }
            rows.append(told | _told(ours.get((one.arm, name))))
    return _frame(rows, EXPECTED)


def last_look(summary: Summary) -> int:
    """Return how many pairs were to be measured at most; a session that was settled earlier has fewer."""
    return summary.investigation.session.looks[-1]


def _runs(summary: Summary) -> Iterator[tuple[ScheduledPair, int, Run]]:
    """Yield every run with its meeting, and whether it was the first or the second there."""
    for meeting in schedule(summary.investigation, last_look(summary)):
        yield from ((meeting, turn, run) for turn, run in enumerate(summary.done.get(meeting.name, ()), 1))


def _reasons(run: Run) -> str:
    return "; ".join(run.limited)


def _differences(found: Compared) -> list[float]:
    values = [*found.baseline, *found.candidate]
    if found.margin.scale is Scale.FACTOR and min(values) <= 0:
        return [math.nan] * len(found.baseline)
    return found.margin.differences(found.baseline, found.candidate)


def _verdict(one: Comparison, found: Compared) -> dict[str, Any]:
    margin, verdict = found.margin, found.verdict
    told = {
        "baseline": one.baseline,
        "candidate": one.candidate,
        "figure": found.metric.name,
        "unit": "" if margin.scale is Scale.POINTS else found.metric.unit,
        "scale": str(margin.scale),
        "primary": found.primary,
        "pairs": len(found.baseline),
        "baseline_value": middle(found.baseline, margin.scale),
        "candidate_value": middle(found.candidate, margin.scale),
        "why_not": found.why_not,
        "more_pairs": None,
    } | _told(found)
    if verdict is None:
        return told
    return told | {
        "margin": steady(margin.effect(verdict.margin)),
        "detectable": margin.effect(verdict.detectable),
        "more_pairs": verdict.more_pairs,
        "p": verdict.p,
        "p_permutation": found.p_permutation,
        "spread": verdict.spread,
        "alpha": verdict.alpha,
    }


def _told(found: Compared | None) -> dict[str, Any]:
    """Return an effect with its interval and what may be said of it, as far as there is one."""
    if found is None or found.verdict is None:
        return {"effect": math.nan, "low": math.nan, "high": math.nan, "kind": NO_VERDICT}
    effect, verdict = found.margin.effect, found.verdict
    told = {"effect": verdict.mean, "low": verdict.low, "high": verdict.high}
    return {name: steady(effect(value)) for name, value in told.items()} | {"kind": str(verdict.kind)}


def _published(summary: Summary, one: Expected) -> dict[str, Compared]:
    """Return what is to be said of the runs that were published, if there are any of both arms."""
    baseline = summary.investigation.baseline
    if not {baseline, one.arm} <= one.runs.keys():
        return {}
    first, second = (Runs(name, one.runs[name]) for name in (baseline, one.arm))
    return {found.metric.name: found for found in compare(first, second, margins=summary.investigation.margins).figures}


def _amount(name: str, amount: Amount | None) -> dict[str, float]:
    low, high = ("low", "high") if name == "cost" else (f"{name}_low", f"{name}_high")
    if amount is None:
        return {name: math.nan, low: math.nan, high: math.nan}
    return {name: amount.mean, low: amount.low, high: amount.high}


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))
