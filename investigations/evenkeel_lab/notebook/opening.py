"""What a notebook begins with: an investigation, opened, with all that was found in it."""

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
class Opened:
    """An investigation that was measured. In a notebook it shows what may be said."""

    summary: Summary

    @property
    def investigation(self) -> Investigation:
        """What was asked."""
        return self.summary.investigation

    @cached_property
    def judgement(self) -> Judgement:
        """What may be said."""
        return judge_summary(self.summary)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run."""
        return frames.runs(self.summary)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row for each valid pair and figure."""
        return frames.pairs(self.summary, self.judgement)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row for each two arms and figure."""
        return frames.verdicts(self.judgement)

    @cached_property
    def quantiles(self) -> pd.DataFrame:
        """One row for each run and share of its requests."""
        return frames.quantiles(self.summary)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """One row for each figure and part of the full arm's cost; none without an ablation."""
        return frames.costs(self.summary)

    @cached_property
    def expected(self) -> pd.DataFrame:
        """One row for each figure that somebody else has told."""
        return frames.expected(self.summary, self.judgement)

    def __repr__(self) -> str:
        return "\n".join([self.investigation.title, *self._findings()])

    def _repr_markdown_(self) -> str:
        asked = self.investigation
        return "\n".join(
            [f"**{asked.title}.** {asked.question}", "", *(f"- {finding}" for finding in self._findings())]
        )

    def _findings(self) -> list[str]:
        found = [f"Not to be believed: {why}" for why in self.judgement.invalid]
        found += [_said(one) for one in self.judgement.comparisons]
        return found + [
            f"{arm} had not settled when the first pair began"
            for arm, told in self.summary.warm_up.items()
            if not told["steady"]
        ]


def investigation(name: str | Path = ".") -> Opened:
    """Open an investigation by its name or its folder; also a folder of `data/`, which quick sessions write."""
    folder = Path(name)
    if not (folder / FILE).is_file():
        folder = find(str(name))
    return Opened(read(require_summary(folder)))


def require_summary(folder: Path) -> Path:
    """Return the summary of an investigation, or raise if there is none yet."""
    path = folder / FILE
    if not path.is_file():
        own = name_of(folder)
        raise NotMeasured(
            f"The investigation {own!r} has no {FILE} yet: it was not measured.",
            hint=f"Run `evenkeel investigate {own}`; of a quick session open its folder below data/{own}/.",
        )
    return path


def _said(one: Comparison) -> str:
    """Say of two arms what their primary figure says."""
    again = " (the same proxy once more)" if one.candidate == AGAIN else ""
    arms = f"{one.candidate}{again} against {one.baseline}"
    for found in one.figures:
        if found.primary:
            margin = f"margin {wording.margin(found)}"
            effect = f"{wording.effect(found)}, {margin}: " if found.verdict else ""
            return f"{arms}, {found.metric.name}, {one.pairs} pairs: {effect}{wording.verdict(found)}"
    return f"{arms}: no valid pair"
