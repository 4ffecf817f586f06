"""Find and read investigations and studies. Unknown names are rejected with the nearest valid one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from evenkeel_lab.errors import WrongUse, nearest
from evenkeel_lab.investigation_spec.base import NAME, Part
from evenkeel_lab.investigation_spec.investigation import Investigation
from evenkeel_lab.investigation_spec.quotation import Finding, Form, Share, quotations
from evenkeel_lab.investigation_spec.study import Study
from evenkeel_lab.investigation_spec.validation_errors import describe, hint

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T", bound=Part)
FOLDER, FILE, STUDY = "investigations", "investigation.toml", "study.toml"
BEGIN = "evenkeel investigate new NAME."
# The other pages of reports and `evenkeel investigate new` have these names.
TAKEN = ("index", "overview", "seeds", "benches", "new")


def home(start: Path | None = None) -> Path:
    """Return the folder of all investigations of the project that contains the current folder."""
    start = start or Path.cwd()
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
    raise WrongUse(f"There is no folder `{FOLDER}` here, nor above.", hint=f"Go to the project, or mkdir {FOLDER}.")


def known(start: Path | None = None) -> dict[str, Path]:
    """Return the folders of all investigations by name, chapters as `study/chapter`; nothing outside of a project."""
    try:
        root = home(start)
    except WrongUse:
        return {}
    chapters = [folder / chapter for folder in studies(start).values() for chapter in _chapters(folder)]
    folders = [path.parent for path in root.glob(f"*/{FILE}")]
    folders += [chapter for chapter in chapters if (chapter / FILE).is_file()]
    return {folder.relative_to(root).as_posix(): folder for folder in sorted(folders)}


def studies(start: Path | None = None) -> dict[str, Path]:
    """Return the folders of all studies, by name."""
    try:
        return {path.parent.name: path.parent for path in sorted(home(start).glob(f"*/{STUDY}"))}
    except WrongUse:
        return {}


def find_study(name: str, start: Path | None = None) -> Path | None:
    """Return the folder of a study by its name or path; `None` if there is no such study."""
    given = Path(name)
    return studies(start).get(name) or (given if (given / STUDY).is_file() else None)


def find(name: str, start: Path | None = None) -> Path:
    """Return the folder of an investigation by its name or path."""
    folders = known(start)
    if name in folders:
        return folders[name]
    given = Path(name)
    if (given / FILE).is_file():
        return given
    study = studies(start).get(name.partition("/")[0])
    if study is not None:
        # If the study cannot be read, its error says why.
        folders = {f"{study.name}/{chapter}": study / chapter for chapter in read_study(study).chapters}
    else:
        # A study stands for its chapters, of which there are many.
        folders = {key: path for key, path in folders.items() if "/" not in key} | studies(start)
    hint = nearest(name, folders) if folders else f"There are none here: {BEGIN}"
    raise WrongUse(f"There is no investigation {name!r}.", hint=hint)


def read(folder: Path) -> Investigation:
    """Read an investigation."""
    name = folder.resolve().name
    check_name(name)
    investigation = _read(Investigation, folder / FILE)
    for reference in (*quotations(investigation.short), *quotations(investigation.advice)):
        _check_quotation(reference, {name: investigation}, folder / FILE)
    return investigation


def read_study(folder: Path) -> Study:
    """Read a study, and check that its chapters exist and measure what it refers to."""
    check_name(folder.resolve().name)
    study = _read(Study, folder / STUDY)
    existing = [path.parent.name for path in sorted(folder.glob(f"*/{FILE}"))]
    for name in study.chapters:
        if name not in existing:
            hint = nearest(name, existing) if existing else f"Each chapter is a folder with {FILE}."
            raise WrongUse(f"{folder / STUDY}: there is no chapter {name!r}.", hint=hint)
    chapters = {name: read(folder / name) for name in study.chapters}
    for reference in (*study.claims, *study.cures, *study.quotations):
        _check_quotation(reference, chapters, folder / STUDY)
    return study


def _check_quotation(reference: Finding | Share, chapters: Mapping[str, Investigation], path: Path) -> None:
    where = f"{path}: {reference.chapter}"
    if reference.chapter not in chapters:
        raise WrongUse(f"{where} is not measured there.", hint=nearest(reference.chapter, chapters))
    if isinstance(reference, Share):
        _check_share(reference, chapters[reference.chapter], where)
    else:
        _check_finding(reference, chapters[reference.chapter], where)


def _check_share(share: Share, chapter: Investigation, where: str) -> None:
    """Raise if the chapter's ablation has no such switch."""
    switches = chapter.ablation.switches if chapter.ablation else {}
    if share.switch not in switches:
        hint = nearest(share.switch, switches) if switches else "It has no [ablation]."
        raise WrongUse(f"{where} has no switch {share.switch!r}.", hint=hint)


def _check_finding(finding: Finding, chapter: Investigation, where: str) -> None:
    """Raise if the chapter does not measure the finding."""
    comparison = (finding.against or chapter.baseline, finding.arm)
    if finding.form is Form.MEASURED:
        if finding.arm not in chapter.arms:
            raise WrongUse(f"{where} has no arm {finding.arm!r}.", hint=nearest(finding.arm, chapter.arms))
    elif comparison not in chapter.comparisons:
        compared = "; ".join(f"{arm} against {baseline}" for baseline, arm in chapter.comparisons)
        baseline, arm = comparison
        raise WrongUse(f"{where} never compares {arm!r} with {baseline!r}.", hint=f"It compares {compared}.")
    if finding.figure not in chapter.figures:
        raise WrongUse(f"{where} does not judge {finding.figure!r}.", hint=nearest(finding.figure, chapter.figures))


def name_of(folder: Path) -> str:
    """Return the name of the investigation in a folder; a chapter's name begins with its study's."""
    folder = folder.resolve()
    is_chapter = (folder.parent / STUDY).is_file()
    return f"{folder.parent.name}/{folder.name}" if is_chapter else folder.name


def _read(kind: type[T], path: Path) -> T:
    try:
        return kind.model_validate(_load_toml(path))
    except ValidationError as error:
        # A field that does not exist explains one that is missing.
        first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
        raise WrongUse(f"{path}: {describe(first)}.", hint=hint(kind, first)) from error


def _load_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Mend it; docs/investigations.md shows one.") from error


def _chapters(folder: Path) -> list[str]:
    """Return the names of a study's chapters; none if it cannot be read, which is an error only for its own readers."""
    try:
        return _read(Study, folder / STUDY).chapters
    except WrongUse:
        return []


def check_name(name: str) -> None:
    """Raise if `name` cannot be the name of an investigation."""
    if name in TAKEN or not re.fullmatch(NAME, name):
        hint = f"Small letters, digits, - and _; not {' or '.join(TAKEN)}."
        raise WrongUse(f"{name!r} is no name for an investigation.", hint=hint)
