"""Judgement of a session: its runs in pairs, and the comparisons of its arms."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.runner.schedule import boot_number, schedule
from evenkeel_lab.stats import Kind, Scale, alpha_per_look
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
        units = _units(investigation, valid)
        comparison = compare(
            _runs(baseline, [first for first, _ in units], investigation),
            _runs(candidate, [second for _, second in units], investigation),
            primary=investigation.primary,
            margins=investigation.margins,
            described=investigation.described,
            alpha=alpha_per_look(investigation.session.looks),
            always_valid=investigation.session.always_valid,
            unit="boot" if investigation.session.pairs_per_boot else "pair",
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


def _units(
    investigation: Investigation, valid: Sequence[tuple[int, Run, Run]]
) -> list[tuple[Mapping[str, float], Mapping[str, float]]]:
    """Return the metrics of both arms in each unit: a pair, or all pairs of a boot.

    Pairs of the same boot share whatever happened to that boot, as requests of a run do.
    """
    if not investigation.session.pairs_per_boot:
        return [(first.figures, second.figures) for _, first, second in valid]
    boots: dict[int, list[tuple[Run, Run]]] = {}
    for pair, first, second in valid:
        boots.setdefault(boot_number(investigation, pair), []).append((first, second))
    return [
        (_mean([first for first, _ in runs], investigation), _mean([second for _, second in runs], investigation))
        for runs in boots.values()
    ]


def _mean(runs: Sequence[Run], investigation: Investigation) -> dict[str, float]:
    """Return the mean of each metric that all runs have: of factors the geometric one, as they are compared."""
    means = {}
    for name in investigation.figures:
        values = [run.figures[name] for run in runs if name in run.figures]
        if len(values) < len(runs):
            continue
        is_factor = investigation.margins[name].scale is Scale.FACTOR
        means[name] = geometric_mean(values) if is_factor and min(values) > 0 else fmean(values)
    return means


def _runs(name: str, units: Sequence[Mapping[str, float]], investigation: Investigation) -> Runs:
    complete = {figure for figure in investigation.figures if units and all(figure in unit for unit in units)}
    missing = tuple(figure for figure in investigation.figures if figure not in complete)
    return Runs(name, {figure: [unit[figure] for unit in units] for figure in complete}, partial=missing)
