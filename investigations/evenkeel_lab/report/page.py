"""A page: its sections, one after the other, and the figures that they show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.section import alt_of, figure_of, flame_graphs
from evenkeel_lab.report.markdown import picture
from evenkeel_lab.report.plots import FIGURES, svg
from evenkeel_lab.report.sections.ablation import ablation
from evenkeel_lab.report.sections.criteria import criteria
from evenkeel_lab.report.sections.database import database
from evenkeel_lab.report.sections.expected import expected
from evenkeel_lab.report.sections.limitations import doubted
from evenkeel_lab.report.sections.noise import noise
from evenkeel_lab.report.sections.profile import profile
from evenkeel_lab.report.sections.question import question
from evenkeel_lab.report.sections.queue import queue
from evenkeel_lab.report.sections.reproduce import provenance, reproduce
from evenkeel_lab.report.sections.shapes import shapes
from evenkeel_lab.report.sections.tables import tables
from evenkeel_lab.report.sections.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.report.report_data import Case

# Each takes a case and the lines that show its figures, by name; one that has nothing to say returns nothing.
SECTIONS: tuple[Callable[[Case, Mapping[str, str]], str], ...] = (
    verdict,
    question,
    tables,
    criteria,
    noise,
    ablation,
    queue,
    database,
    expected,
    shapes,
    profile,
    doubted,
    reproduce,
    provenance,
)


@dataclass(frozen=True)
class Page:
    """A report, as it is written to files."""

    name: str
    """Its path below the place of reports, without an ending; its figures lie in a folder of that path."""
    markdown: str
    figures: Mapping[str, str]
    """The text of each figure's file, by its name; the markdown says in words what they show."""

    @property
    def files(self) -> dict[str, str]:
        """The text of each file, by its path below the place of reports."""
        drawn = {f"{self.name}/{name}.svg": text for name, text in self.figures.items()}
        return {f"{self.name}.md": self.markdown} | drawn


def folder_of(name: str) -> str:
    """Return the folder of a page's figures, seen from the page."""
    return PurePosixPath(name).name


def page(case: Case) -> Page:
    """Make the page of a session, and draw its figures."""
    figures, alts = {}, {}
    for name, one in FIGURES.items():
        drawn = one.draw(case.summary, case.judgement)
        if drawn is not None:
            figures[name] = svg(drawn, name)
            alts[name] = one.alt(case.summary, case.judgement)
    if case.profile:
        figures |= flame_graphs(case.profile)
        alts |= {figure_of(arm): alt_of(arm) for arm in case.profile.arms}
    return Page(case.summary.name, markdown(case, alts), figures)


def markdown(case: Case, alts: Mapping[str, str]) -> str:
    """Write the page of a session, with those figures of which it is said what they show."""
    folder = folder_of(case.summary.name)
    command = f"evenkeel report {case.summary.name}" if case.committed else ""
    pictures = {name: picture(alt, f"{folder}/{name}.svg", command) for name, alt in alts.items()}
    said = [section(case, pictures) for section in SECTIONS]
    return "\n\n".join(filter(None, said)) + "\n"
