"""The notebook of an investigation, and beside it what it shows when it is executed: both are committed."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import jupytext

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import name_of
from evenkeel_lab.investigation_spec.read import BOOK
from evenkeel_lab.notebook.clean import clean
from evenkeel_lab.notebook.kernel import execute
from evenkeel_lab.notebook.opening import require_summary
from evenkeel_lab.notebook.pictures import look_the_same
from evenkeel_lab.notebook.template import FILE as SOURCE
from evenkeel_lab.runner.results.summary import FILE as SUMMARY

if TYPE_CHECKING:
    from pathlib import Path

EXECUTED = "notebook.ipynb"
CELL_SECONDS = 120
# Git keeps every one that was ever committed.
LARGEST = 2**20
PICTURE = "image/png"


def write(folder: Path) -> Path:
    """Execute an investigation's notebook, and write what it shows beside it, unless that is there already."""
    path = folder / EXECUTED
    text = executed(folder)
    if not _same(path, text):
        path.write_text(text, encoding="utf-8")
    return path


def drift(folder: Path) -> list[str]:
    """Return the executed notebook of an investigation, if it is not what an execution shows now."""
    path = folder / EXECUTED
    name = f"{name_of(folder)}/{EXECUTED}"
    if not (folder / SOURCE).is_file() or not _is_measured(folder):
        return [name] if path.exists() else []
    return [] if _same(path, executed(folder)) else [name]


def _is_measured(folder: Path) -> bool:
    """Whether there is anything to show: of a book, in any chapter."""
    return (folder / SUMMARY).is_file() or ((folder / BOOK).is_file() and any(folder.glob(f"*/{SUMMARY}")))


def executed(folder: Path) -> str:
    """Execute an investigation's notebook; return what its file would hold."""
    if not (folder / BOOK).is_file():
        require_summary(folder)
    path = folder / SOURCE
    try:
        notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(
            f"{path} cannot be read: {error}.", hint="docs/investigations.md says how to write one."
        ) from error
    execute(notebook, path, CELL_SECONDS)
    clean(notebook, path)
    text: str = jupytext.writes(notebook, fmt="ipynb")
    if len(text) > LARGEST:
        raise WrongUse(
            f"{path} is {len(text) / 2**20:.1f} MiB when it was executed: too much to be committed.",
            hint="Show fewer pictures, or smaller ones.",
        )
    return text


def _same(path: Path, text: str) -> bool:
    """Whether a file shows what the text does; pictures may differ in what nobody sees, as those of machines do."""
    try:
        there = path.read_text(encoding="utf-8")
        if there == text:
            return True
        (first, pictures), (second, others) = _apart(there), _apart(text)
        return first == second and all(map(look_the_same, pictures, others))
    except (OSError, ValueError, SyntaxError):
        return False


def _apart(text: str) -> tuple[Any, list[bytes]]:
    """Return what a notebook holds, with numbers in the place of pictures, and these."""
    pictures: list[bytes] = []

    def numbered(told: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(told.get(PICTURE), str):
            return told
        pictures.append(b64decode(told[PICTURE]))
        return told | {PICTURE: len(pictures)}

    return json.loads(text, object_hook=numbered), pictures
