"""Report files below `reports/`: rendering from committed summaries, writing, and checking for drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import find, known, name_of, read as read_investigation, read_study, studies
from evenkeel_lab.investigation_spec.overview import read_overview
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.investigation_spec.seeds import read_seeds
from evenkeel_lab.profiling.profile import FILE as PROFILE, read as read_profile
from evenkeel_lab.progress import Silent
from evenkeel_lab.report.benches import benches_page
from evenkeel_lab.report.generated_marker import is_marked, marked
from evenkeel_lab.report.html import document
from evenkeel_lab.report.index import index
from evenkeel_lab.report.overview import overview_page
from evenkeel_lab.report.page import page
from evenkeel_lab.report.reliability import reliability_page
from evenkeel_lab.report.report_data import report_data_of
from evenkeel_lab.report.seeds import seeds_page
from evenkeel_lab.report.study import study_page
from evenkeel_lab.runner.results.bench_results import read_benches
from evenkeel_lab.runner.results.chaos_results import read_matrix
from evenkeel_lab.runner.results.summary import FILE, read as read_summary
from evenkeel_lab.tracing.traces import FILE as TRACES, read as read_traces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.investigation_spec import Study
    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.report.page import Page
    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.tracing.traces import Traces

REPORTS, INDEX, SEEDS, BENCHES, RELIABILITY = "reports", "index.md", "seeds.md", "benches.md", "reliability.md"
# HTML pages are not committed, so they are not checked for drift.
COMMITTED, OTHERS = ("**/*.md", "**/*.svg", "**/*.speedscope.json"), ("**/*.html",)


@dataclass(frozen=True)
class Drift:
    """A file that differs from a new rendering."""

    path: Path
    what: str


@dataclass(frozen=True)
class Rendered:
    """Rendered reports of all investigations, or of some."""

    folder: Path
    files: Mapping[str, str]
    """The text of each committed file, by its path below `folder`."""
    pages: Sequence[Page]
    names: frozenset[str] | None
    """Names of the rendered investigations and studies; `None` if all were rendered."""

    def left_over(self, patterns: Sequence[str] = COMMITTED) -> list[Path]:
        """Return generated files that belong to no report any more. Files without our marker are left out."""
        existing = {
            path.relative_to(self.folder).as_posix(): path
            for pattern in patterns
            for path in sorted(self.folder.glob(pattern))
        }
        current = self.files.keys() | {_html(page) for page in self.pages}
        return [
            path
            for name, path in existing.items()
            if name not in current and self._is_of_these(name) and is_marked(path, name)
        ]

    def _is_of_these(self, name: str) -> bool:
        # A page or one of its plots. The page of a chapter is in the same folder as the plots of its study.
        page, folder = name.rpartition(".")[0], name.rpartition("/")[0]
        return self.names is None or page in self.names or (folder in self.names and not name.endswith(".md"))

    def drift(self) -> list[Drift]:
        """Return the files that differ from this rendering."""
        drifts = []
        for name, text in self.files.items():
            path = self.folder / name
            if not path.is_file():
                drifts.append(Drift(path, "missing"))
            elif path.read_bytes() != text.encode():
                drifts.append(Drift(path, "differs"))
        return drifts + [Drift(path, "left over") for path in self.left_over()]

    def remove(self) -> list[Path]:
        """Remove generated files that belong to no report any more. Return their paths."""
        paths = self.left_over(COMMITTED + OTHERS)
        for path in paths:
            path.unlink()
        return paths

    def write(self) -> list[Path]:
        """Write all committed files. Return their paths."""
        return [_write(self.folder / name, text) for name, text in self.files.items()]

    def write_html(self) -> list[Path]:
        """Write each page as one HTML file. Return their paths."""
        return [_write(self.folder / _html(page), marked(_html(page), document(page))) for page in self.pages]


def render(summary: Summary, folder: Path) -> Path:
    """Write the report of a session into `folder`, committed or not. Return the path of its page."""
    rendered = page(report_data_of(summary, profile=_profile(folder), traces=_traces(folder)))
    for name, text in rendered.files.items():
        _write(folder / name, marked(name, text))
    return folder / f"{rendered.name}.md"


def render_study(name: str, study: Study, summaries: Sequence[Summary], folder: Path) -> Path:
    """Write the pages of a quick run of a study into `folder`. Return the path of its main page."""
    by_chapter = {summary.name.rpartition("/")[2]: report_data_of(summary) for summary in summaries}
    first = study_page(name, study.only(by_chapter), by_chapter, quick=True)
    for rendered in (first, *map(page, by_chapter.values())):
        for file, text in rendered.files.items():
            _write(folder / file, marked(file, text))
    return folder / f"{first.name}.md"


def render_all(names: Sequence[str] = (), steps: Steps | None = None) -> Rendered:
    """Render the reports of all measured investigations and studies, or of those in `names`, and the index."""
    steps = steps or Silent()
    study_folders, folders = studies(), known()
    if not folders:
        raise WrongUse("There are no investigations here.", hint="Go to the project's folder.")
    measured = {name: folder for name, folder in folders.items() if (folder / FILE).is_file()}
    affected = _affected_names(names, study_folders, measured)
    by_name, pages = {}, []
    for name, folder in measured.items():
        with steps.step(f"report of {name}"):
            by_name[name] = _read_data(name, folder)
            if not names or name in affected:
                pages.append(page(by_name[name]))
    by_study = {name: read_study(folder) for name, folder in study_folders.items()}
    for name, study in by_study.items():
        by_chapter = {chapter: by_name[f"{name}/{chapter}"] for chapter in _chapters_of(name, by_name)}
        if by_chapter and (not names or name in affected):
            pages.append(study_page(name, study, by_chapter))
    waiting = {name: read_investigation(folder) for name, folder in folders.items() if name not in measured}
    overview = read_overview(home())
    if overview is not None:
        pages.append(overview_page(overview, by_name))
    files = _other_files(by_name, by_study)
    files[INDEX] = index([*by_name.values()], waiting, by_study, {*files, *(f"{each.name}.md" for each in pages)})
    for rendered in pages:
        files |= rendered.files
    files = {name: marked(name, text) for name, text in files.items()}
    return Rendered(home().parent / REPORTS, files, pages, affected if names else None)


def _other_files(by_name: Mapping[str, ReportData], by_study: Mapping[str, Study]) -> dict[str, str]:
    """Render what belongs to no investigation: benchmarks, failures, the statements of the seeds."""
    files: dict[str, str] = {}
    benches = read_benches(home())
    if benches:
        files[BENCHES] = benches_page(benches)
    matrix = read_matrix(home())
    if matrix is not None:
        files[RELIABILITY] = reliability_page(matrix)
    seeds = read_seeds(home())
    if seeds is not None:
        by_chapter_of = {
            name: {chapter: by_name[f"{name}/{chapter}"] for chapter in _chapters_of(name, by_name)}
            for name in by_study
        }
        files[SEEDS] = seeds_page(seeds, by_study, by_chapter_of)
    return files


def results_of(name: str) -> ReportData | None:
    """Return the committed results of an investigation, or `None` if it was not measured or does not exist."""
    folder = known().get(name)
    return None if folder is None or not (folder / FILE).is_file() else _read_data(name, folder)


def _affected_names(names: Sequence[str], study_names: Collection[str], measured: Collection[str]) -> frozenset[str]:
    """Return `names` and what changes with them: the chapters of a study, the study of a chapter."""
    affected = set()
    for name in (name if name in study_names else name_of(find(name)) for name in names):
        if name not in study_names and name not in measured:
            raise WrongUse(f"{name} was not measured yet.", hint=f"Measure it: evenkeel investigate {name}.")
        affected |= {name, *(f"{name}/{chapter}" for chapter in _chapters_of(name, measured))}
        affected |= {name.partition("/")[0]} & {*study_names}
    return frozenset(affected)


def _chapters_of(study: str, names: Iterable[str]) -> list[str]:
    return [name.partition("/")[2] for name in names if name.startswith(f"{study}/")]


def _read_data(name: str, folder: Path) -> ReportData:
    summary = read_summary(folder / FILE)
    if summary.name != name:
        raise WrongUse(f"{folder / FILE} is of {summary.name!r}, not of {name!r}.", hint=f"Measure {name} again.")
    present, profile, traces = read_investigation(folder), _profile(folder), _traces(folder)
    return report_data_of(summary, present=present, profile=profile, traces=traces, committed=True)


def _profile(folder: Path) -> Profile | None:
    path = folder / PROFILE
    return read_profile(path) if path.is_file() else None


def _traces(folder: Path) -> Traces | None:
    path = folder / TRACES
    return read_traces(path) if path.is_file() else None


def _html(page: Page) -> str:
    return f"{page.name}.html"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path
