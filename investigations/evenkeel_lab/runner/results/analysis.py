"""What a session says so far: its runs, paired, and what may be said of each two arms."""

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
    """All comparisons of a session, and whether they may be believed."""

    comparisons: Sequence[Comparison]
    invalid: Sequence[str]
    """Why nothing of it may be believed; empty if it may."""

    @property
    def has_basis(self) -> bool:
        """Whether what decides can be judged, of each two arms."""
        return all(any(found.primary and found.verdict for found in one.figures) for one in self.comparisons)

    @property
    def settled(self) -> bool:
        """Whether more pairs would only narrow what is known already."""
        judged = [one for one in self.comparisons if one.candidate != AGAIN]
        return bool(judged) and all(
            any(found.primary and found.verdict and found.verdict.kind.is_settled for found in one.figures)
            for one in judged
        )


def judge_summary(summary: Summary) -> Judgement:
    """Judge what a session has found, when it is over."""
    asked = summary.investigation
    return judge_session(asked, summary.done, asked.session.looks[-1])


def judge_session(investigation: Investigation, done: Mapping[str, Sequence[Run]], pairs: int) -> Judgement:
    """Judge what has been measured in so many pairs."""
    found, invalid = [], []
    for baseline, candidate in investigation.comparisons:
        valid, dropped = paired(investigation, done, pairs, baseline, candidate)
        compared = compare(
            _runs(baseline, [first for _, first, _ in valid], investigation),
            _runs(candidate, [second for _, _, second in valid], investigation),
            primary=investigation.primary,
            margins=investigation.margins,
            described=investigation.described,
            alpha=alpha_per_look(investigation.session.looks),
        )
        found.append(compared)
        share = len(dropped) / max(1, len(dropped) + len(valid))
        if share > investigation.gates.invalid:
            invalid.append(f"gates: {len(dropped)} pairs of {candidate} against {baseline} are invalid: {dropped[0]}")
        if candidate == AGAIN:
            invalid += [
                f"noise: {one.metric.name} differs between two proxies that are the same"
                for one in compared.figures
                # Two processes are never quite the same: what is shown to be within the margin is the noise floor.
                if one.verdict is not None and one.verdict.kind in {Kind.MATERIAL, Kind.UNCERTAIN}
            ]
    return Judgement(found, invalid)


def paired(
    investigation: Investigation, done: Mapping[str, Sequence[Run]], pairs: int, baseline: str, candidate: str
) -> tuple[list[tuple[int, Run, Run]], list[str]]:
    """Return the valid pairs of two arms, each with its number, and why the others are not."""
    found, dropped = [], []
    for meeting in schedule(investigation, pairs):
        if set(meeting.arms) != {baseline, candidate} or meeting.name not in done:
            continue
        runs = {run.arm: run for run in done[meeting.name]}
        first, second = runs[baseline], runs[candidate]
        reasons = [*first.limited, *second.limited]
        if reasons:
            dropped.append(f"pair {meeting.pair}: {reasons[0]}")
        else:
            found.append((meeting.pair, first, second))
    return found, dropped


def _runs(name: str, runs: Sequence[Run], investigation: Investigation) -> Runs:
    told = {figure for figure in investigation.figures if runs and all(figure in run.figures for run in runs)}
    missing = tuple(figure for figure in investigation.figures if figure not in told)
    return Runs(name, {figure: [run.figures[figure] for run in runs] for figure in told}, partial=missing)
