"""What may be said of the difference between two sets of runs, figure by figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel_lab.comparison.figures import figure, ordered
from evenkeel_lab.verdicts import LEAST_PAIRS, Scale, hold, judge, second_opinion
from evenkeel_lab.verdicts.verdict import ALPHA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.comparison.figures import Figure
    from evenkeel_lab.comparison.runs import Runs
    from evenkeel_lab.verdicts import Margin, Verdict


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


@dataclass(frozen=True)
class Comparison:
    """Two arms."""

    baseline: str
    candidate: str
    figures: Sequence[Compared]
    warnings: Sequence[str]

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return max((len(one.baseline) for one in self.figures), default=0)


def compare(
    baseline: Runs,
    candidate: Runs,
    *,
    primary: str | None = None,
    margins: Mapping[str, Margin] | None = None,
    alpha: float = ALPHA,
) -> Comparison:
    """Compare two sets of runs: the n-th run of one with the n-th of the other.

    The primary figure is judged by itself; all others are a family in which chance has more than one throw.
    """
    names = ordered([name for name in baseline.figures if name in candidate.figures])
    primary = primary or next(iter(names), None)
    found = [
        _one(name, baseline, candidate, (margins or {}).get(name), alpha, primary=name == primary) for name in names
    ]
    judged = [one for one in found if one.verdict is not None and not one.primary]
    standing = iter(hold([one.verdict for one in judged if one.verdict is not None]))
    figures = [replace(one, verdict=next(standing)) if one in judged else one for one in found]
    return Comparison(baseline.name, candidate.name, figures, _warnings(baseline, candidate, names))


def _one(name: str, baseline: Runs, candidate: Runs, margin: Margin | None, alpha: float, *, primary: bool) -> Compared:
    known = figure(name)
    margin = margin or known.usual
    count = min(baseline.count, candidate.count)
    first, second = baseline.figures[name][:count], candidate.figures[name][:count]
    why_not = ""
    verdict = p_permutation = None
    if count < LEAST_PAIRS:
        why_not = f"too few pairs: {count}, of at least {LEAST_PAIRS}"
    elif margin.scale is Scale.FACTOR and not all(value > 0 for value in (*first, *second)):
        why_not = "a figure of zero has no factor"
    else:
        differences = margin.differences(first, second)
        verdict = judge(differences, margin.width(first, second), alpha=alpha)
        p_permutation = second_opinion(differences)
    return Compared(known, margin, first, second, verdict, why_not, p_permutation, primary)


def _warnings(baseline: Runs, candidate: Runs, names: Sequence[str]) -> list[str]:
    found = [*baseline.warnings, *candidate.warnings]
    if not names:
        found.append("no-common-figure: the two have no figure in common")
    if baseline.count != candidate.count:
        found.append(f"uneven: {baseline.count} runs against {candidate.count}; what has no partner is left out")
    return found
