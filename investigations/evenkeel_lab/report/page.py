"""Page of one session: its sections and their plots."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.section import alt_of, figure_of, flame_graphs, speedscope_files
from evenkeel_lab.report.markdown import picture
from evenkeel_lab.report.plots import FIGURES, svg
from evenkeel_lab.report.plots.waits import alt as waits_alt, waits
from evenkeel_lab.report.sections.ablation import ablation
from evenkeel_lab.report.sections.criteria import criteria
from evenkeel_lab.report.sections.database import database
from evenkeel_lab.report.sections.expected import expected
from evenkeel_lab.report.sections.limitations import limitations
from evenkeel_lab.report.sections.noise import noise
from evenkeel_lab.report.sections.profile import profile
from evenkeel_lab.report.sections.question import question
from evenkeel_lab.report.sections.queue import queue
from evenkeel_lab.report.sections.reproduce import provenance, reproduce
from evenkeel_lab.report.sections.shapes import shapes
from evenkeel_lab.report.sections.tables import tables
from evenkeel_lab.report.sections.traces import FIGURE as WAITS, traces
from evenkeel_lab.report.sections.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.report.report_data import ReportData

# Each takes the data and the markdown of each plot, by name. It returns an empty text if there is nothing to show.
SECTIONS: tuple[Callable[[ReportData, Mapping[str, str]], str], ...] = (
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
    traces,
    profile,
    limitations,
    reproduce,
    provenance,
)


@dataclass(frozen=True)
class Page:
    """A rendered report page."""

    name: str
    """Path below the folder of reports, without suffix. The plots are in the folder of that path."""
    markdown: str
    figures: Mapping[str, str]
    """The SVG of each plot, by its name."""
    attached: Mapping[str, str] = field(default_factory=dict)
    """Other files that the page links to, by name."""

    @property
    def files(self) -> dict[str, str]:
        """The text of each file, by its path below the folder of reports."""
        drawn = {f"{self.name}/{name}.svg": text for name, text in self.figures.items()}
        attached = {f"{self.name}/{name}": text for name, text in self.attached.items()}
        return {f"{self.name}.md": self.markdown} | drawn | attached


def folder_of(name: str) -> str:
    """Return the folder of a page's plots, relative to the page."""
    return PurePosixPath(name).name


def page(data: ReportData) -> Page:
    """Render the page of a session and draw its plots."""
    figures, alts = {}, {}
    for name, drawing in FIGURES.items():
        drawn = drawing.draw(data.summary, data.judgement)
        if drawn is not None:
            figures[name] = svg(drawn, name)
            alts[name] = drawing.alt(data.summary, data.judgement)
    if data.profile:
        figures |= flame_graphs(data.profile)
        alts |= {figure_of(arm): alt_of(arm) for arm in data.profile.arms}
    if data.traces and data.traces.arms:
        figures[WAITS] = svg(waits(data.traces, data.investigation.baseline), WAITS)
        alts[WAITS] = waits_alt(data.traces)
    attached = speedscope_files(data.profile) if data.profile else {}
    return Page(data.summary.name, markdown(data, alts), figures, attached)


def markdown(data: ReportData, alts: Mapping[str, str]) -> str:
    """Return the markdown of a session's page, with the plots that have an alt text in `alts`."""
    folder = folder_of(data.summary.name)
    command = f"evenkeel report {data.summary.name}" if data.committed else ""
    pictures = {name: picture(alt, f"{folder}/{name}.svg", command) for name, alt in alts.items()}
    parts = [section(data, pictures) for section in SECTIONS]
    return "\n\n".join(filter(None, parts)) + "\n"
