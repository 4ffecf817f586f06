"""What may be said of the difference between two sets of runs, figure by figure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel_lab.stats import LEAST_PAIRS, Scale, hold, judge, second_opinion
from evenkeel_lab.stats.metrics import FIGURES, ordered
from evenkeel_lab.stats.pairing import pair
from evenkeel_lab.stats.verdict import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.stats import Margin, Verdict
    from evenkeel_lab.stats.metrics import Figure
    from evenkeel_lab.stats.run_set import Runs


@dataclass(frozen=True)
class Compared:
    """One figure of two arms."""

    figure: Figure
    margin: Margin
    baseline: Sequence[float]
    candidate: Sequence[float]
    verdict: Verdict | None
    """None if there is no basis for one."""
    why_not: str
    p_permutation: float | None
    """A second opinion on the verdict, which assumes no normal distribution."""
    primary: bool

    @property
    def ends(self) -> tuple[float, float]:
        """Where the interval of the effect begins and ends: shares of the baseline, or points."""
        assert self.verdict is not None
        return self.margin.effect(self.verdict.low), self.margin.effect(self.verdict.high)


@dataclass(frozen=True)
class Comparison:
    """Two arms."""

    baseline: str
    candidate: str
    figures: Sequence[Compared]
    warnings: Sequence[str]
    pairs: int
    """How many pairs of runs there are."""
    primary: str | None
    """The figure that decides, whether or not it can be told; None if there is no figure."""


def compare(
    baseline: Runs,
    candidate: Runs,
    *,
    primary: str | None = None,
    margins: Mapping[str, Margin] | None = None,
    described: Mapping[str, Figure] = FIGURES,
    alpha: float = ALPHA,
) -> Comparison:
    """Compare two sets of runs: each run with its namesake, or the n-th of one with the n-th of the other.

    The primary figure is judged by itself; all others are a family in which chance has more than one throw. If nobody
    names one, it is the baseline's own.
    """
    names = ordered([name for name in baseline.figures if name in candidate.figures])
    primary = primary or baseline.primary or next(iter(names), None)
    pairs = pair(baseline, candidate)
    found = []
    for name in names:
        first = [baseline.figures[name][place] for place, _ in pairs.places]
        second = [candidate.figures[name][place] for _, place in pairs.places]
        margin = (margins or {}).get(name, described[name].usual)
        found.append(_one(described[name], margin, first, second, alpha, primary=name == primary))
    judged = [one for one in found if one.verdict is not None and not one.primary]
    standing = iter(hold([one.verdict for one in judged if one.verdict is not None]))
    figures = [replace(one, verdict=next(standing)) if one in judged else one for one in found]
    warnings = dict.fromkeys(
        [*baseline.warnings, *candidate.warnings, *pairs.warnings, *_untold(baseline, candidate, names, primary)]
    )
    return Comparison(baseline.name, candidate.name, figures, [*warnings], len(pairs.places), primary)


def _one(
    about: Figure, margin: Margin, first: Sequence[float], second: Sequence[float], alpha: float, *, primary: bool
) -> Compared:
    why_not = _why_not(margin.scale, first, second)
    if why_not:
        return Compared(about, margin, first, second, None, why_not, None, primary)
    differences = margin.differences(first, second)
    verdict = judge(differences, margin.width(first, second), alpha=alpha)
    return Compared(about, margin, first, second, verdict, "", second_opinion(differences), primary)


def _why_not(scale: Scale, first: Sequence[float], second: Sequence[float]) -> str:
    """Say why two arms' values are no basis for a verdict; nothing if they are one."""
    values = [*first, *second]
    if len(first) < LEAST_PAIRS:
        return f"too few pairs: {len(first)}, of at least {LEAST_PAIRS}"
    if not all(map(math.isfinite, values)):
        return "not every value is a finite number"
    if scale is Scale.POINTS:
        return "" if all(0 <= value <= 1 for value in values) else "a share is a number from 0 to 1"
    if min(values) < 0:
        return "a figure below zero has no factor"
    return "" if min(values) > 0 else "a figure of zero has no factor"


def _untold(baseline: Runs, candidate: Runs, names: Sequence[str], primary: str | None) -> Iterator[str]:
    """Say what one arm or the other lacks."""
    for name in ordered([*baseline.seen, *candidate.seen]):
        for runs in (baseline, candidate):
            if name not in runs.figures:
                yield f"untold: {name} of {runs.name} cannot be told in every run"
    if not names:
        yield "no-common-figure: the two have no figure in common"
    elif primary not in names:
        yield f"no-primary: {primary} decides, but cannot be compared; no other figure decides in its place"
