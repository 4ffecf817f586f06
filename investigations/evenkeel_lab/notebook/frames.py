"""Results of a session as pandas frames.

Effects, intervals and costs are those of `evenkeel_lab.stats` and `evenkeel_lab.runner.results`. They, margins and
shares are fractions: 0.05 is 5 %, or 5 percentage points.
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
RUNS = ("scheduled_pair", "pair", "arm", "turn", "at_s", "seconds", "requests", "cores", "cpu_s", "provider", "limited")
PAIRS = ("baseline", "candidate", "pair", "figure", "baseline_value", "candidate_value", "difference", "effect")
VERDICTS = (
    *("baseline", "candidate", "figure", "unit", "scale", "primary", "pairs", "baseline_value", "candidate_value"),
    *("effect", "low", "high", "margin", "kind", "why_not", "detectable", "more_pairs"),
    *("p", "p_permutation", "spread", "alpha"),
)
QUANTILES = ("scheduled_pair", "pair", "arm", "share", "latency_ms", "limited")
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
    """Return one row per run, in the order of time, with a column for each metric."""
    all_runs = list(_runs(summary))
    began = min((run.start_ns for _, _, run in all_runs), default=0)
    figures = ordered(sorted({name for _, _, run in all_runs for name in run.figures}))
    rows = [
        {
            "scheduled_pair": scheduled.name,
            "pair": scheduled.pair,
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
        for scheduled, turn, run in all_runs
    ]
    frame = _frame(rows, (*RUNS, *figures))
    return frame.sort_values(["at_s", "turn"], kind="stable", ignore_index=True)


def pairs(summary: Summary, judgement: Judgement) -> pd.DataFrame:
    """Return one row per valid pair and metric: both values, their difference on the metric's scale, and the effect."""
    rows = []
    for comparison in judgement.comparisons:
        valid, _ = paired(
            summary.investigation, summary.done, last_look(summary), comparison.baseline, comparison.candidate
        )
        numbers = [number for number, _, _ in valid]
        for compared in comparison.figures:
            keys = {"baseline": comparison.baseline, "candidate": comparison.candidate, "figure": compared.metric.name}
            values = zip(numbers, compared.baseline, compared.candidate, _differences(compared), strict=True)
            rows += [
                keys
                | {"pair": number, "baseline_value": first, "candidate_value": second, "difference": difference}
                | {"effect": compared.margin.effect(difference)}
                for number, first, second, difference in values
            ]
    return _frame(rows, PAIRS)


def verdicts(judgement: Judgement) -> pd.DataFrame:
    """Return one row per comparison and metric, with its verdict."""
    rows = [_verdict(comparison, compared) for comparison in judgement.comparisons for compared in comparison.figures]
    return _frame(rows, VERDICTS).astype({"more_pairs": "Int64", "primary": bool})


def quantiles(summary: Summary) -> pd.DataFrame:
    """Return one row per run and share: the latency within which that share of requests was answered."""
    rows = [
        {
            "scheduled_pair": scheduled.name,
            "pair": scheduled.pair,
            "arm": run.arm,
            "share": float(share),
            "latency_ms": latency,
            "limited": _reasons(run),
        }
        for scheduled, _, run in _runs(summary)
        if run.arm in summary.sketches.get(scheduled.name, {})
        for share, latency in summary.sketches[scheduled.name][run.arm].quantiles.items()
    ]
    return _frame(rows, QUANTILES)


def costs(summary: Summary) -> pd.DataFrame:
    """Return one row per metric and part of the full arm's cost, in the metric's unit, the total first."""
    rows = []
    for name in ordered(list(summary.investigation.figures)):
        attribution = attribute(summary.investigation, summary.done, last_look(summary), name)
        if attribution is None:
            continue
        keys = {"figure": name, "unit": METRICS[name].unit}
        rows.append(keys | {"piece": "total", "about": "all of it"} | _amount("cost", attribution.total))
        for piece in [*attribution.pieces, *([attribution.rest] if attribution.rest else [])]:
            amounts = _amount("cost", piece.cost) | _amount("share", piece.share) | _amount("left", piece.left)
            rows.append(keys | {"piece": piece.name, "about": piece.about} | amounts)
    return _frame(rows, COSTS)


def expected(summary: Summary, judgement: Judgement) -> pd.DataFrame:
    """Return one row per published metric: the claim, the verdict on the published runs, and the one on our runs."""
    ours = {
        (comparison.candidate, compared.metric.name): compared
        for comparison in judgement.comparisons
        if comparison.baseline == summary.investigation.baseline
        for compared in comparison.figures
    }
    rows = []
    for claim in summary.investigation.expected:
        theirs = _published(summary, claim)
        for name in ordered([*claim.figures, *theirs]):
            published = _effect(theirs.get(name))
            row = {
                "source": claim.source,
                "claim": claim.claim,
                "arm": claim.arm,
                "figure": name,
                "claimed": claim.figures.get(name, math.nan),
                "published": published["effect"],
                "published_low": published["low"],
                "published_high": published["high"],
                "published_pairs": len(theirs[name].baseline) if name in theirs else 0,
            }
            rows.append(row | _effect(ours.get((claim.arm, name))))
    return _frame(rows, EXPECTED)


def last_look(summary: Summary) -> int:
    """Return the maximum number of pairs. A session that stopped at an earlier look has fewer."""
    return summary.investigation.session.looks[-1]


def _runs(summary: Summary) -> Iterator[tuple[ScheduledPair, int, Run]]:
    """Yield each run with its scheduled pair and its turn in it, 1 or 2."""
    for scheduled in schedule(summary.investigation, last_look(summary)):
        yield from ((scheduled, turn, run) for turn, run in enumerate(summary.done.get(scheduled.name, ()), 1))


def _reasons(run: Run) -> str:
    return "; ".join(run.limited)


def _differences(compared: Compared) -> list[float]:
    values = [*compared.baseline, *compared.candidate]
    if compared.margin.scale is Scale.FACTOR and min(values) <= 0:
        return [math.nan] * len(compared.baseline)
    return compared.margin.differences(compared.baseline, compared.candidate)


def _verdict(comparison: Comparison, compared: Compared) -> dict[str, Any]:
    margin, verdict = compared.margin, compared.verdict
    row = {
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "figure": compared.metric.name,
        "unit": "" if margin.scale is Scale.POINTS else compared.metric.unit,
        "scale": str(margin.scale),
        "primary": compared.primary,
        "pairs": len(compared.baseline),
        "baseline_value": middle(compared.baseline, margin.scale),
        "candidate_value": middle(compared.candidate, margin.scale),
        "why_not": compared.why_not,
        "more_pairs": None,
    } | _effect(compared)
    if verdict is None:
        return row
    return row | {
        "margin": steady(margin.effect(verdict.margin)),
        "detectable": margin.effect(verdict.detectable),
        "more_pairs": verdict.more_pairs,
        "p": verdict.p,
        "p_permutation": compared.p_permutation,
        "spread": verdict.spread,
        "alpha": verdict.alpha,
    }


def _effect(compared: Compared | None) -> dict[str, Any]:
    """Return the effect, its interval and the verdict; NaN if there is no verdict."""
    if compared is None or compared.verdict is None:
        return {"effect": math.nan, "low": math.nan, "high": math.nan, "kind": NO_VERDICT}
    effect, verdict = compared.margin.effect, compared.verdict
    values = {"effect": verdict.mean, "low": verdict.low, "high": verdict.high}
    return {name: steady(effect(value)) for name, value in values.items()} | {"kind": str(verdict.kind)}


def _published(summary: Summary, claim: Expected) -> dict[str, Compared]:
    """Return the comparisons of the published runs by metric; empty unless both arms have runs."""
    baseline = summary.investigation.baseline
    if not {baseline, claim.arm} <= claim.runs.keys():
        return {}
    first, second = (Runs(name, claim.runs[name]) for name in (baseline, claim.arm))
    return {
        compared.metric.name: compared
        for compared in compare(first, second, margins=summary.investigation.margins).figures
    }


def _amount(name: str, amount: Amount | None) -> dict[str, float]:
    low, high = ("low", "high") if name == "cost" else (f"{name}_low", f"{name}_high")
    if amount is None:
        return {name: math.nan, low: math.nan, high: math.nan}
    return {name: amount.mean, low: amount.low, high: amount.high}


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))
