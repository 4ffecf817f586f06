"""Data of a report page: a session, its verdicts and its caveats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.report.caveats import caveats_of, same_question
from evenkeel_lab.runner.results.ablation import attribute
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.results.queue_model import queueing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.report.caveats import Caveat
    from evenkeel_lab.runner.results.ablation import Attribution
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.queue_model import Queueing
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.stats.compare import Compared, Comparison
    from evenkeel_lab.tracing.traces import Traces

PERCENT = 100


@dataclass(frozen=True)
class ReportData:
    """One session with its analysis."""

    summary: Summary
    judgement: Judgement
    attribution: Attribution | None
    queueing: Queueing | None
    caveats: Sequence[Caveat]
    profile: Profile | None
    traces: Traces | None
    committed: bool
    """Whether the summary is committed beside its investigation, so that `evenkeel report` makes this page."""

    @property
    def investigation(self) -> Investigation:
        """The investigation as it was measured."""
        return self.summary.investigation

    @property
    def is_invalid(self) -> bool:
        """Whether the session is invalid."""
        return bool(self.judgement.invalid)

    @property
    def invalid_note(self) -> str:
        """A sentence for results that derive from an invalid session; empty if the session is valid."""
        return " **This session is invalid: do not use this result.**" if self.judgement.invalid else ""

    @property
    def litellm(self) -> list[str]:
        """The measured versions of LiteLLM; empty if only functions or the mock were measured."""
        return sorted({arm.litellm for arm in self.investigation.arms.values() if arm.subject is Kind.PROXY})

    @property
    def candidates(self) -> list[Comparison]:
        """Comparisons of each arm with the baseline."""
        return [comparison for comparison in self._against_baseline if comparison.candidate != AGAIN]

    @property
    def shown(self) -> list[Comparison]:
        """Comparisons to show. If the baseline is the only arm, that is the comparison with its twin."""
        return self.candidates or [comparison for comparison in [self.noise] if comparison]

    @property
    def ablated(self) -> list[Comparison]:
        """Comparisons of an ablation with its full arm."""
        return [
            comparison
            for comparison in self.judgement.comparisons
            if comparison.baseline != self.investigation.baseline
        ]

    @property
    def noise(self) -> Comparison | None:
        """Comparison of the baseline with its twin; `None` if it was not measured."""
        return next((comparison for comparison in self._against_baseline if comparison.candidate == AGAIN), None)

    @property
    def _against_baseline(self) -> list[Comparison]:
        return [
            comparison
            for comparison in self.judgement.comparisons
            if comparison.baseline == self.investigation.baseline
        ]


def report_data_of(
    summary: Summary,
    *,
    present: Investigation | None = None,
    profile: Profile | None = None,
    traces: Traces | None = None,
    committed: bool = False,
) -> ReportData:
    """Analyse a session. `present` is the investigation in its file today; its wording is used if only that changed."""
    if present is not None and same_question(present, summary.investigation):
        summary = replace(summary, investigation=present)
    investigation = summary.investigation
    last = investigation.session.looks[-1]
    judgement = judge_session(investigation, summary.done, last)
    return ReportData(
        summary,
        judgement,
        attribute(investigation, summary.done, last, investigation.primary),
        queueing(investigation, summary.done),
        caveats_of(summary, judgement, present),
        profile,
        traces,
        committed,
    )


def primary(comparison: Comparison) -> Compared | None:
    """Return the primary metric of a comparison, or `None` if it is unknown."""
    return next((comparison for comparison in comparison.figures if comparison.primary), None)


def confidence_level(alpha: float) -> str:
    """Return the confidence level of an interval with error probability `alpha`, as text."""
    return f"{(1 - alpha) * PERCENT:.3g} %"
