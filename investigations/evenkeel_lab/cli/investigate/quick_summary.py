"""What the last lines of a quick book say: what decides, chapter by chapter, beside what was measured at length."""

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


def conclusion(found: Iterable[tuple[Summary, Judgement]]) -> RenderableType:
    """Say it once more: the tables of a session are long out of sight."""
    return Group(*(part for summary, judgement in found for part in _chapter(summary, judgement)))


def _chapter(summary: Summary, judgement: Judgement) -> Iterator[RenderableType]:
    asked, then = summary.investigation, _decided(_at_length(summary))
    yield Text(f"{asked.title}, {asked.primary} against {asked.baseline}", style="bold")
    shown = Table(box=None, pad_edge=False, show_header=False)
    for (candidate, baseline), now in _decided(judgement).items():
        name = candidate if baseline == asked.baseline else f"{candidate} against {baseline}"
        shown.add_row(f"  {name}", "now", now[0], Text(now[1], style="bold"))
        effect, verdict = then.get((candidate, baseline), (wording.UNMEASURED, ""))
        shown.add_row("", "at length", effect, Text(verdict, style="bold"))
    yield shown
    yield from (Text(f"  invalid: {why}", style="bold yellow") for why in judgement.invalid)


def _decided(judgement: Judgement | None) -> dict[tuple[str, str], tuple[str, str]]:
    """Return of each two arms, the candidate first, the effect in what decides, and the verdict."""
    found = {}
    for one in judgement.comparisons if judgement else ():
        told = next((figure for figure in one.figures if figure.primary), None)
        invalid = bool(judgement and judgement.invalid)
        said = (wording.effect(told), wording.stated(told, invalid=invalid)) if told else ("", wording.NO_VERDICT)
        found[one.candidate, one.baseline] = said
    return found


def _at_length(quick: Summary) -> Judgement | None:
    """Return what the session has found that is committed, if there is one that can be read and asked the same."""
    folder = known().get(quick.name)
    if folder is None or not (folder / SUMMARY).is_file():
        return None
    try:
        found = read(folder / SUMMARY)
    except LabError:
        return None
    return judge_summary(found) if _subjects(found) == _subjects(quick) else None


def _subjects(summary: Summary) -> tuple[str, list[tuple[str, str, str]]]:
    """Return what decides, and the arms as far as they are the same at length."""
    asked = summary.investigation
    return asked.primary, [(name, arm.subject, arm.litellm) for name, arm in asked.arms.items()]
