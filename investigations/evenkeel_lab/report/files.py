"""Reports as files: read from what is committed, written below `reports/`, and held against what lies there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import books, find, known, name_of, read as read_investigation, read_book
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.profiling.profile import FILE as PROFILE, read as read_profile
from evenkeel_lab.progress import Silent
from evenkeel_lab.report.generated_marker import is_marked, marked
from evenkeel_lab.report.html import document
from evenkeel_lab.report.index import index
from evenkeel_lab.report.page import page
from evenkeel_lab.report.report_data import case_of
from evenkeel_lab.report.study import book_page
from evenkeel_lab.runner.results.summary import FILE, read as read_summary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.investigation_spec import Book
    from evenkeel_lab.profiling.profile import Profile
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.report.page import Page
    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.runner.results.summary import Summary

REPORTS, INDEX = "reports", "index.md"
# One file of HTML is not committed, and so it never drifts.
COMMITTED, OTHERS = ("**/*.md", "**/*.svg"), ("**/*.html",)


@dataclass(frozen=True)
class Drift:
    """A file that is not what it would be now."""

    path: Path
    what: str


@dataclass(frozen=True)
class Rendered:
    """What was made of all, or of some, investigations."""

    place: Path
    files: Mapping[str, str]
    """The text of each file that is committed, by its path below that place."""
    pages: Sequence[Page]
    names: frozenset[str] | None
    """Of which investigations and books; None for all."""

    def left_over(self, patterns: Sequence[str] = COMMITTED) -> list[Path]:
        """Return what was made earlier, and belongs to no report now; files of others are not among it."""
        there = {
            path.relative_to(self.place).as_posix(): path for one in patterns for path in sorted(self.place.glob(one))
        }
        wanted = self.files.keys() | {_html(one) for one in self.pages}
        return [
            path
            for name, path in there.items()
            if name not in wanted and self._is_of_these(name) and is_marked(path, name)
        ]

    def _is_of_these(self, name: str) -> bool:
        # A page, or one of its figures; a chapter's page lies among the figures of its book.
        page, folder = name.rpartition(".")[0], name.rpartition("/")[0]
        return self.names is None or page in self.names or (folder in self.names and name.endswith(".svg"))

    def drift(self) -> list[Drift]:
        """Return the files that are not what they would be now."""
        found = []
        for name, text in self.files.items():
            path = self.place / name
            if not path.is_file():
                found.append(Drift(path, "missing"))
            elif path.read_bytes() != text.encode():
                found.append(Drift(path, "differs"))
        return found + [Drift(path, "left over") for path in self.left_over()]

    def remove(self) -> list[Path]:
        """Remove what was made earlier and belongs to no report now; return it."""
        found = self.left_over(COMMITTED + OTHERS)
        for path in found:
            path.unlink()
        return found

    def write(self) -> list[Path]:
        """Write all files that are committed, and return them."""
        return [_write(self.place / name, text) for name, text in self.files.items()]

    def write_html(self) -> list[Path]:
        """Write each page as one file of HTML."""
        return [_write(self.place / _html(one), marked(_html(one), document(one))) for one in self.pages]


def render(summary: Summary, place: Path) -> Path:
    """Write the report of a session, which need not be committed, into a folder; return its path."""
    made = page(case_of(summary, profile=_profile(place)))
    for name, text in made.files.items():
        _write(place / name, marked(name, text))
    return place / f"{made.name}.md"


def render_book(name: str, book: Book, summaries: Sequence[Summary], place: Path) -> Path:
    """Write the pages of a first impression of a book into a folder; return the path of the first one."""
    cases = {one.name.rpartition("/")[2]: case_of(one) for one in summaries}
    first = book_page(name, book.only(cases), cases, quick=True)
    for one in (first, *map(page, cases.values())):
        for file, text in one.files.items():
            _write(place / file, marked(file, text))
    return place / f"{first.name}.md"


def render_all(names: Sequence[str] = (), steps: Steps | None = None) -> Rendered:
    """Make the reports of all investigations and books that were measured, or of those named; and their index."""
    steps = steps or Silent()
    shelf, folders = books(), known()
    if not folders:
        raise WrongUse("There are no investigations here.", hint="Go to the project's folder.")
    measured = {name: folder for name, folder in folders.items() if (folder / FILE).is_file()}
    wanted = _wanted(names, shelf, measured)
    cases, pages = [], []
    for name, folder in measured.items():
        with steps.step(f"report of {name}"):
            cases.append(_case(name, folder))
            if not names or name in wanted:
                pages.append(page(cases[-1]))
    bound = {name: read_book(folder) for name, folder in shelf.items()}
    by_name = {case.summary.name: case for case in cases}
    for name, book in bound.items():
        if not names or name in wanted:
            pages.append(book_page(name, book, {one: by_name[f"{name}/{one}"] for one in _chapters(name, by_name)}))
    waiting = {name: read_investigation(folder) for name, folder in folders.items() if name not in measured}
    files = {INDEX: index(cases, waiting, {name: book.question for name, book in bound.items()})}
    for one in pages:
        files |= one.files
    files = {name: marked(name, text) for name, text in files.items()}
    return Rendered(home().parent / REPORTS, files, pages, wanted if names else None)


def _wanted(names: Sequence[str], shelf: Collection[str], measured: Collection[str]) -> frozenset[str]:
    """Return what is asked for, and what changes with it: the chapters of a book, the book of a chapter."""
    found = set()
    for name in (name if name in shelf else name_of(find(name)) for name in names):
        if name not in shelf and name not in measured:
            raise WrongUse(f"{name} has not been measured yet.", hint=f"Measure it: evenkeel investigate {name}.")
        found |= {name, *(f"{name}/{chapter}" for chapter in _chapters(name, measured))}
        found |= {name.partition("/")[0]} & {*shelf}
    return frozenset(found)


def _chapters(book: str, among: Iterable[str]) -> list[str]:
    return [name.partition("/")[2] for name in among if name.startswith(f"{book}/")]


def _case(name: str, folder: Path) -> Case:
    summary = read_summary(folder / FILE)
    if summary.name != name:
        raise WrongUse(f"{folder / FILE} is of {summary.name!r}, not of {name!r}.", hint=f"Measure {name} anew.")
    return case_of(summary, present=read_investigation(folder), profile=_profile(folder), committed=True)


def _profile(folder: Path) -> Profile | None:
    path = folder / PROFILE
    return read_profile(path) if path.is_file() else None


def _html(one: Page) -> str:
    return f"{one.name}.html"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path
