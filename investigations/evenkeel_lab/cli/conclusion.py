"""What the last lines of a quick book say: what decides, chapter by chapter, beside what was measured at length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.comparison import words
from evenkeel_lab.experiment import known
from evenkeel_lab.session.judge import judge_summary
from evenkeel_lab.session.summary import FILE as SUMMARY, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from evenkeel_lab.comparison.compare import Compared
    from evenkeel_lab.session.judge import Judgement
    from evenkeel_lab.session.summary import Summary


def conclusion(found: Iterable[tuple[Summary, Judgement]]) -> RenderableType:
    """Say it once more: the tables of a session are long out of sight."""
    return Group(*(part for summary, judgement in found for part in _chapter(summary, judgement)))


def _chapter(summary: Summary, judgement: Judgement) -> Iterator[RenderableType]:
    asked, then = summary.investigation, _decisive(_at_length(summary.name))
    yield Text(f"{asked.title}, {asked.primary} against {asked.baseline}", style="bold")
    shown = Table(box=None, pad_edge=False, show_header=False)
    for arms, now in _decisive(judgement).items():
        candidate, baseline = arms
        name = candidate if baseline == asked.baseline else f"{candidate} against {baseline}"
        shown.add_row(f"  {name}", "now", *_said(now))
        shown.add_row("", "at length", *(_said(then[arms]) if arms in then else ("not measured yet",)))
    yield shown


def _said(compared: Compared) -> tuple[RenderableType, RenderableType]:
    return words.effect(compared), Text(words.verdict(compared), style="bold")


def _decisive(judgement: Judgement | None) -> dict[tuple[str, str], Compared]:
    """Return of each two arms, the candidate first, the figure that decides."""
    compared = judgement.comparisons if judgement else ()
    return {(one.candidate, one.baseline): found for one in compared for found in one.figures if found.primary}


def _at_length(name: str) -> Judgement | None:
    """Return what the session has found that is committed, if there is one."""
    folder = known().get(name)
    return judge_summary(read(folder / SUMMARY)) if folder and (folder / SUMMARY).is_file() else None
