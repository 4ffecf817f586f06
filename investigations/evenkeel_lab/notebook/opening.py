"""Opening of a measured investigation in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.errors import NotMeasured
from evenkeel_lab.investigation_spec import find, name_of
from evenkeel_lab.investigation_spec.investigation import AGAIN
from evenkeel_lab.notebook import frames
from evenkeel_lab.runner.results.analysis import judge_summary
from evenkeel_lab.runner.results.summary import FILE, read
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    import pandas as pd

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.stats.compare import Comparison


@dataclass(frozen=True, repr=False)
class MeasuredInvestigation:
    """A measured investigation. A notebook displays its verdicts."""

    summary: Summary

    @property
    def investigation(self) -> Investigation:
        """The investigation as it was measured."""
        return self.summary.investigation

    @cached_property
    def judgement(self) -> Judgement:
        """Verdicts of all comparisons."""
        return judge_summary(self.summary)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run."""
        return frames.runs(self.summary)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per valid pair and metric."""
        return frames.pairs(self.summary, self.judgement)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row per comparison and metric."""
        return frames.verdicts(self.judgement)

    @cached_property
    def quantiles(self) -> pd.DataFrame:
        """One row per run and share of its requests."""
        return frames.quantiles(self.summary)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """One row per metric and part of the full arm's cost; empty without an ablation."""
        return frames.costs(self.summary)

    @cached_property
    def expected(self) -> pd.DataFrame:
        """One row per published metric."""
        return frames.expected(self.summary, self.judgement)

    def __repr__(self) -> str:
        return "\n".join([self.investigation.title, *self._findings()])

    def _repr_markdown_(self) -> str:
        investigation = self.investigation
        return "\n".join(
            [
                f"**{investigation.title}.** {investigation.question}",
                "",
                *(f"- {finding}" for finding in self._findings()),
            ]
        )

    def _findings(self) -> list[str]:
        findings = [f"Invalid: {why}" for why in self.judgement.invalid]
        findings += [_summary_line(comparison) for comparison in self.judgement.comparisons]
        return findings + [
            f"{arm} had not settled when the first pair began"
            for arm, state in self.summary.warm_up.items()
            if not state["steady"]
        ]


def investigation(name: str | Path = ".") -> MeasuredInvestigation:
    """Open an investigation by its name or folder. A quick session is opened by its folder below `data/`."""
    folder = Path(name)
    if not (folder / FILE).is_file():
        folder = find(str(name))
    return MeasuredInvestigation(read(require_summary(folder)))


def require_summary(folder: Path) -> Path:
    """Return the path of an investigation's summary. Raise `NotMeasured` if there is none."""
    path = folder / FILE
    if not path.is_file():
        own = name_of(folder)
        raise NotMeasured(
            f"The investigation {own!r} has no {FILE} yet, because it was not measured.",
            hint=f"Run `evenkeel investigate {own}`. To open a quick session, name its folder below data/{own}/.",
        )
    return path


def _summary_line(comparison: Comparison) -> str:
    """Return one line with the verdict on the primary metric of a comparison."""
    again = " (an equal proxy)" if comparison.candidate == AGAIN else ""
    arms = f"{comparison.candidate}{again} against {comparison.baseline}"
    for compared in comparison.figures:
        if compared.primary:
            margin = f"margin {wording.margin(compared)}"
            effect = f"{wording.effect(compared)}, {margin}: " if compared.verdict else ""
            return f"{arms}, {compared.metric.name}, {comparison.pairs} pairs: {effect}{wording.verdict(compared)}"
    return f"{arms}: no valid pair"
