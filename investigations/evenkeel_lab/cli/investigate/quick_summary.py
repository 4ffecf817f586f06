"""The last lines of a quick study: the primary metric of each chapter, next to that of the committed session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.errors import LabError
from evenkeel_lab.investigation_spec import known
from evenkeel_lab.runner.results.analysis import judge_summary
from evenkeel_lab.runner.results.summary import FILE as SUMMARY, read
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary


def conclusion(chapters: Iterable[tuple[Summary, Judgement]]) -> RenderableType:
    """Return the primary metrics of all chapters once more, after the tables of the last session."""
    return Group(*(part for summary, judgement in chapters for part in _chapter(summary, judgement)))


def _chapter(summary: Summary, judgement: Judgement) -> Iterator[RenderableType]:
    investigation, committed = summary.investigation, _decided(_at_length(summary))
    yield Text(f"{investigation.title}, {investigation.primary} against {investigation.baseline}", style="bold")
    shown = Table(box=None, pad_edge=False, show_header=False)
    for (candidate, baseline), now in _decided(judgement).items():
        name = candidate if baseline == investigation.baseline else f"{candidate} against {baseline}"
        shown.add_row(f"  {name}", "now", now[0], Text(now[1], style="bold"))
        effect, verdict = committed.get((candidate, baseline), (wording.UNMEASURED, ""))
        shown.add_row("", "at length", effect, Text(verdict, style="bold"))
    yield shown
    yield from (Text(f"  invalid: {why}", style="bold yellow") for why in judgement.invalid)


def _decided(judgement: Judgement | None) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the effect and the verdict of the primary metric, by candidate and baseline."""
    decided = {}
    for comparison in judgement.comparisons if judgement else ():
        primary = next((compared for compared in comparison.figures if compared.primary), None)
        invalid = bool(judgement and judgement.invalid)
        decided[comparison.candidate, comparison.baseline] = (
            (wording.effect(primary), wording.stated(primary, invalid=invalid)) if primary else ("", wording.NO_VERDICT)
        )
    return decided


def _at_length(quick: Summary) -> Judgement | None:
    """Return the judgement of the committed session with the same arms; `None` if there is none."""
    folder = known().get(quick.name)
    if folder is None or not (folder / SUMMARY).is_file():
        return None
    try:
        committed = read(folder / SUMMARY)
    except LabError:
        return None
    return judge_summary(committed) if _subjects(committed) == _subjects(quick) else None


def _subjects(summary: Summary) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the primary metric and the arms, without what a quick session changes."""
    investigation = summary.investigation
    return investigation.primary, [(name, arm.subject, arm.litellm) for name, arm in investigation.arms.items()]
