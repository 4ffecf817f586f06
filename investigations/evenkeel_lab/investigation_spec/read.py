"""Where investigations lie, and how they are read: strictly, with the nearest valid name for one that is none."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from evenkeel_lab.errors import WrongUse, nearest
from evenkeel_lab.investigation_spec.base import NAME, Part
from evenkeel_lab.investigation_spec.investigation import Investigation
from evenkeel_lab.investigation_spec.quotation import Finding, Share, Telling
from evenkeel_lab.investigation_spec.study import Book
from evenkeel_lab.investigation_spec.validation_errors import hint, what

T = TypeVar("T", bound=Part)
FOLDER, FILE, BOOK = "investigations", "investigation.toml", "book.toml"
BEGIN = "evenkeel investigate new NAME."
# A page and a word of the command line have these names.
TAKEN = ("index", "new")


def home(start: Path | None = None) -> Path:
    """Return the folder of all investigations: of the project that the current folder lies in."""
    start = start or Path.cwd()
    for place in (start, *start.parents):
        if (place / FOLDER).is_dir():
            return place / FOLDER
    raise WrongUse(f"There is no folder `{FOLDER}` here, nor above.", hint=f"Go to the project, or mkdir {FOLDER}.")


def known(start: Path | None = None) -> dict[str, Path]:
    """Return the folders of all investigations, by name, chapters as `book/chapter`; none where there is no project."""
    try:
        place = home(start)
    except WrongUse:
        return {}
    chapters = [folder / chapter for folder in books(start).values() for chapter in _chapters(folder)]
    found = [path.parent for path in place.glob(f"*/{FILE}")] + [one for one in chapters if (one / FILE).is_file()]
    return {folder.relative_to(place).as_posix(): folder for folder in sorted(found)}


def books(start: Path | None = None) -> dict[str, Path]:
    """Return the folders of all books, by name."""
    try:
        return {path.parent.name: path.parent for path in sorted(home(start).glob(f"*/{BOOK}"))}
    except WrongUse:
        return {}


def find_book(name: str, start: Path | None = None) -> Path | None:
    """Return the folder of a book, named or given as a path; None if it is none."""
    given = Path(name)
    return books(start).get(name) or (given if (given / BOOK).is_file() else None)


def find(name: str, start: Path | None = None) -> Path:
    """Return the folder of an investigation, named or given as a path."""
    there = known(start)
    if name in there:
        return there[name]
    given = Path(name)
    if (given / FILE).is_file():
        return given
    book = books(start).get(name.partition("/")[0])
    if book is not None:
        # One that cannot be read says why.
        there = {f"{book.name}/{chapter}": book / chapter for chapter in read_book(book).chapters}
    else:
        there = there | books(start)
    hint = nearest(name, there) if there else f"There are none here: {BEGIN}"
    raise WrongUse(f"There is no investigation {name!r}.", hint=hint)


def read(folder: Path) -> Investigation:
    """Read an investigation."""
    check_name(folder.resolve().name)
    return _read(Investigation, folder / FILE)


def read_book(folder: Path) -> Book:
    """Read a book, all of whose chapters are there."""
    check_name(folder.resolve().name)
    found = _read(Book, folder / BOOK)
    there = [path.parent.name for path in sorted(folder.glob(f"*/{FILE}"))]
    for name in found.chapters:
        if name not in there:
            hint = nearest(name, there) if there else f"Each chapter is a folder with {FILE}."
            raise WrongUse(f"{folder / BOOK}: there is no chapter {name!r}.", hint=hint)
    chapters = {name: read(folder / name) for name in found.chapters}
    for one in (*found.claims, *found.cures, *found.quotations):
        chapter, where = chapters[one.chapter], f"{folder / BOOK}: {one.chapter}"
        if isinstance(one, Share):
            _check_share(one, chapter, where)
        else:
            _check_finding(one, chapter, where)
    return found


def _check_share(one: Share, chapter: Investigation, where: str) -> None:
    """Refuse what a chapter does not take apart."""
    switches = chapter.ablation.switches if chapter.ablation else {}
    if one.switch not in switches:
        hint = nearest(one.switch, switches) if switches else "It has no [ablation]."
        raise WrongUse(f"{where} takes no {one.switch!r} apart.", hint=hint)


def _check_finding(one: Finding, chapter: Investigation, where: str) -> None:
    """Refuse what a chapter cannot tell."""
    met = (one.against or chapter.baseline, one.arm)
    if one.told is Telling.MEASURED:
        if one.arm not in chapter.arms:
            raise WrongUse(f"{where} has no arm {one.arm!r}.", hint=nearest(one.arm, chapter.arms))
    elif met not in chapter.comparisons:
        there = "; ".join(f"{arm} against {baseline}" for baseline, arm in chapter.comparisons)
        raise WrongUse(f"{where} never compares {met[1]!r} with {met[0]!r}.", hint=f"It compares {there}.")
    if one.figure not in chapter.figures:
        raise WrongUse(f"{where} does not judge {one.figure!r}.", hint=nearest(one.figure, chapter.figures))


def name_of(folder: Path) -> str:
    """Return the name of an investigation, wherever it lies; a chapter's begins with its book's."""
    folder = folder.resolve()
    is_chapter = (folder.parent / BOOK).is_file()
    return f"{folder.parent.name}/{folder.name}" if is_chapter else folder.name


def _read(kind: type[T], path: Path) -> T:
    try:
        return kind.model_validate(_told(path))
    except ValidationError as error:
        # A field that does not exist explains one that is missing.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        raise WrongUse(f"{path}: {what(first)}.", hint=hint(kind, first)) from error


def _told(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Mend it; docs/investigations.md shows one.") from error


def _chapters(folder: Path) -> list[str]:
    """Return the chapters that a book names; none of one that cannot be read, which is told by who reads it."""
    try:
        return _read(Book, folder / BOOK).chapters
    except WrongUse:
        return []


def check_name(name: str) -> None:
    """Refuse what cannot be an investigation's name."""
    if name in TAKEN or not re.fullmatch(NAME, name):
        hint = f"Small letters, digits, - and _; not {' or '.join(TAKEN)}."
        raise WrongUse(f"{name!r} is no name for an investigation.", hint=hint)
