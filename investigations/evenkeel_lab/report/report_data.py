"""All that a page is made of, in one value: a session, what may be said of it, and what may be doubted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.report.caveats import doubts, same
from evenkeel_lab.runner.results.ablation import attribute
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.results.queue_model import queueing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.report.caveats import Doubt
    from evenkeel_lab.runner.results.ablation import Attribution
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.queue_model import Queueing
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.stats.compare import Compared, Comparison

LEVEL = 100


@dataclass(frozen=True)
class Case:
    """One session, judged."""

    summary: Summary
    judgement: Judgement
    attribution: Attribution | None
    queueing: Queueing | None
    doubts: Sequence[Doubt]
    profile: Profile | None
    committed: bool
    """Whether the summary lies beside its investigation, so that `evenkeel report` makes this page."""

    @property
    def asked(self) -> Investigation:
        """What the session was asked for."""
        return self.summary.investigation

    @property
    def disbelief(self) -> str:
        """What is to be said of whatever was derived from an invalid session; nothing of any other."""
        return " **This session is invalid: none of it is to be believed.**" if self.judgement.invalid else ""

    @property
    def litellm(self) -> list[str]:
        """The versions of LiteLLM that ran; functions and the mock need none."""
        return sorted({arm.litellm for arm in self.asked.arms.values() if arm.subject is Kind.PROXY})

    @property
    def candidates(self) -> list[Comparison]:
        """The arms against the baseline."""
        return [one for one in self._against_baseline if one.candidate != AGAIN]

    @property
    def shown(self) -> list[Comparison]:
        """What there is to say: of a single arm, whether it differs from one that is the same."""
        return self.candidates or [one for one in [self.noise] if one]

    @property
    def switched(self) -> list[Comparison]:
        """What an ablation sets against its full arm."""
        return [one for one in self.judgement.comparisons if one.baseline != self.asked.baseline]

    @property
    def noise(self) -> Comparison | None:
        """The baseline against another one that is the same."""
        return next((one for one in self._against_baseline if one.candidate == AGAIN), None)

    @property
    def _against_baseline(self) -> list[Comparison]:
        return [one for one in self.judgement.comparisons if one.baseline == self.asked.baseline]


def case_of(
    summary: Summary,
    *,
    present: Investigation | None = None,
    profile: Profile | None = None,
    committed: bool = False,
) -> Case:
    """Judge a session; `present` is what its file asks for today, and in which words."""
    if present is not None and same(present, summary.investigation):
        summary = replace(summary, investigation=present)
    asked = summary.investigation
    last = asked.session.looks[-1]
    judgement = judge_session(asked, summary.done, last)
    return Case(
        summary,
        judgement,
        attribute(asked, summary.done, last, asked.primary),
        queueing(asked, summary.done),
        doubts(summary, judgement, present),
        profile,
        committed,
    )


def primary(comparison: Comparison) -> Compared | None:
    """Return the figure that decides; None if it was not told."""
    return next((one for one in comparison.figures if one.primary), None)


def level(alpha: float) -> str:
    """Say how sure an interval is that errs by so much."""
    return f"{(1 - alpha) * LEVEL:.3g} %"
