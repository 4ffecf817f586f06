"""Judgement of a session: its runs in pairs, and the comparisons of its arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.runner.schedule import schedule
from evenkeel_lab.stats import Kind, alpha_per_look
from evenkeel_lab.stats.compare import Comparison, compare
from evenkeel_lab.stats.run_set import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.summary import Summary


@dataclass(frozen=True)
class Judgement:
    """All comparisons of a session, and whether the session is valid."""

    comparisons: Sequence[Comparison]
    invalid: Sequence[str]
    """Reasons why the session is invalid; empty if it is valid."""

    @property
    def has_basis(self) -> bool:
        """Whether all comparisons have a verdict on the primary metric."""
        return all(
            any(compared.primary and compared.verdict for compared in comparison.figures)
            for comparison in self.comparisons
        )

    @property
    def settled(self) -> bool:
        """Whether all verdicts on the primary metric are settled: further pairs would only narrow intervals."""
        judged = [comparison for comparison in self.comparisons if comparison.candidate != AGAIN]
        return bool(judged) and all(
            any(
                compared.primary and compared.verdict and compared.verdict.kind.is_settled
                for compared in comparison.figures
            )
            for comparison in judged
        )


def judge_summary(summary: Summary) -> Judgement:
    """Judge a session that is over."""
    investigation = summary.investigation
    return judge_session(investigation, summary.done, investigation.session.looks[-1])


def judge_session(investigation: Investigation, done: Mapping[str, Sequence[Run]], pairs: int) -> Judgement:
    """Judge the first `pairs` pairs of a session."""
    comparisons, invalid = [], []
    for baseline, candidate in investigation.comparisons:
        valid, dropped = paired(investigation, done, pairs, baseline, candidate)
        comparison = compare(
            _runs(baseline, [first for _, first, _ in valid], investigation),
            _runs(candidate, [second for _, _, second in valid], investigation),
            primary=investigation.primary,
            margins=investigation.margins,
            described=investigation.described,
            alpha=alpha_per_look(investigation.session.looks),
        )
        comparisons.append(comparison)
        share = len(dropped) / max(1, len(dropped) + len(valid))
        if share > investigation.gates.invalid:
            invalid.append(f"gates: {len(dropped)} pairs of {candidate} against {baseline} are invalid: {dropped[0]}")
        if candidate == AGAIN:
            invalid += [
                f"noise: {compared.metric.name} differs between two proxies that are the same"
                for compared in comparison.figures
                # Two processes are never quite the same. A difference within the margin is the noise floor.
                if compared.verdict is not None and compared.verdict.kind in {Kind.MATERIAL, Kind.UNCERTAIN}
            ]
    return Judgement(comparisons, invalid)


def paired(
    investigation: Investigation, done: Mapping[str, Sequence[Run]], pairs: int, baseline: str, candidate: str
) -> tuple[list[tuple[int, Run, Run]], list[str]]:
    """Return the valid pairs of two arms, each with its number, and the reasons why the others are invalid."""
    valid, dropped = [], []
    for scheduled in schedule(investigation, pairs):
        if not {baseline, candidate} <= set(scheduled.arms) or scheduled.name not in done:
            continue
        runs = {run.arm: run for run in done[scheduled.name]}
        first, second = runs[baseline], runs[candidate]
        reasons = [*first.limited, *second.limited]
        if reasons:
            dropped.append(f"pair {scheduled.pair}: {reasons[0]}")
        else:
            valid.append((scheduled.pair, first, second))
    return valid, dropped


def _runs(name: str, runs: Sequence[Run], investigation: Investigation) -> Runs:
    complete = {figure for figure in investigation.figures if runs and all(figure in run.figures for run in runs)}
    missing = tuple(figure for figure in investigation.figures if figure not in complete)
    return Runs(name, {figure: [run.figures[figure] for run in runs] for figure in complete}, partial=missing)
