"""Comparison of two sets of runs, metric by metric."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel_lab.stats import LEAST_PAIRS, Scale, equivalence_test, holm_correction, permutation_p_value
from evenkeel_lab.stats.metrics import METRICS, ordered
from evenkeel_lab.stats.pairing import pair
from evenkeel_lab.stats.verdict import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.stats import Margin, Verdict
    from evenkeel_lab.stats.metrics import Metric
    from evenkeel_lab.stats.run_set import Runs


@dataclass(frozen=True)
class Compared:
    """Comparison of two arms by one metric."""

    metric: Metric
    margin: Margin
    baseline: Sequence[float]
    candidate: Sequence[float]
    verdict: Verdict | None
    """`None` if the values are no basis for a verdict."""
    why_not: str
    """Why there is no verdict; empty if there is one."""
    p_permutation: float | None
    """P-value of a permutation test, which assumes no normal distribution; `None` without a verdict."""
    primary: bool
    unit: str = "pair"
    """Word for what a value is of: a pair of runs, or a boot with several pairs."""

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the interval of the effect: shares of the baseline, or points."""
        assert self.verdict is not None
        return self.margin.effect(self.verdict.low), self.margin.effect(self.verdict.high)


@dataclass(frozen=True)
class Comparison:
    """Comparison of two arms by all their common metrics."""

    baseline: str
    candidate: str
    figures: Sequence[Compared]
    warnings: Sequence[str]
    pairs: int
    """Number of pairs of runs, or of boots."""
    primary: str | None
    """Name of the metric that decides, even if it cannot be compared; `None` if there is no metric."""
    unit: str = "pair"
    """Word for what is compared: a pair of runs, or a boot with several pairs."""


def compare(
    baseline: Runs,
    candidate: Runs,
    *,
    primary: str | None = None,
    margins: Mapping[str, Margin] | None = None,
    described: Mapping[str, Metric] = METRICS,
    alpha: float = ALPHA,
    always_valid: bool = False,
    unit: str = "pair",
) -> Comparison:
    """Compare two sets of runs: runs of the same name, or else the n-th run of each.

    The primary metric is tested alone. The others are corrected for multiple comparisons. Without `primary`, the
    baseline's own primary metric decides. `unit` is the word for what is compared.
    """
    names = ordered([name for name in baseline.figures if name in candidate.figures])
    primary = primary or baseline.primary or next(iter(names), None)
    pairs = pair(baseline, candidate)
    compared = []
    for name in names:
        first = [baseline.figures[name][index] for index, _ in pairs.indices]
        second = [candidate.figures[name][index] for _, index in pairs.indices]
        margin = (margins or {}).get(name, described[name].usual)
        compared.append(
            _compare_metric(
                described[name],
                margin,
                first,
                second,
                alpha,
                primary=name == primary,
                always_valid=always_valid,
                unit=unit,
            )
        )
    secondary = [metric.verdict for metric in compared if metric.verdict is not None and not metric.primary]
    corrected = iter(holm_correction(secondary))
    figures = [
        metric if metric.verdict is None or metric.primary else replace(metric, verdict=next(corrected))
        for metric in compared
    ]
    warnings = dict.fromkeys(
        [*baseline.warnings, *candidate.warnings, *pairs.warnings, *_missing(baseline, candidate, names, primary)]
    )
    return Comparison(baseline.name, candidate.name, figures, [*warnings], len(pairs.indices), primary, unit)


def _compare_metric(
    metric: Metric,
    margin: Margin,
    first: Sequence[float],
    second: Sequence[float],
    alpha: float,
    *,
    primary: bool,
    always_valid: bool,
    unit: str,
) -> Compared:
    why_not = _why_not(margin.scale, first, second, unit)
    if why_not:
        return Compared(metric, margin, first, second, None, why_not, None, primary, unit)
    differences = margin.differences(first, second)
    verdict = equivalence_test(differences, margin.width(first, second), alpha=alpha, always_valid=always_valid)
    return Compared(metric, margin, first, second, verdict, "", permutation_p_value(differences), primary, unit)


def _why_not(scale: Scale, first: Sequence[float], second: Sequence[float], unit: str) -> str:
    """Return why the values of two arms are no basis for a verdict; empty if they are one."""
    values = [*first, *second]
    if len(first) < LEAST_PAIRS:
        return f"too few {unit}s: {len(first)}, of at least {LEAST_PAIRS}"
    if not all(map(math.isfinite, values)):
        return "not every value is a finite number"
    if scale is Scale.POINTS:
        return "" if all(0 <= value <= 1 for value in values) else "a share is a number from 0 to 1"
    if min(values) < 0:
        return "a figure below zero has no factor"
    return "" if min(values) > 0 else "a figure of zero has no factor"


def _missing(baseline: Runs, candidate: Runs, names: Sequence[str], primary: str | None) -> Iterator[str]:
    """Yield a warning for each metric that one of the arms lacks."""
    for name in ordered([*baseline.seen, *candidate.seen]):
        for runs in (baseline, candidate):
            if name not in runs.figures:
                yield f"unknown: {name} of {runs.name} has no value in some runs"
    if not names:
        yield "no-common-figure: the two have no figure in common"
    elif primary not in names:
        yield f"no-primary: {primary} decides, but cannot be compared; no other figure decides in its place"
