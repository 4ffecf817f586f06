"""Files of an investigation's notebook: its source and its executed form. Both are committed."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import jupytext

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import name_of
from evenkeel_lab.investigation_spec.read import STUDY
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
# Git keeps every committed version forever.
MAX_BYTES = 2**20
PICTURE = "image/png"


def write(folder: Path) -> Path:
    """Execute an investigation's notebook and write the result beside it, unless it is unchanged. Return its path."""
    path = folder / EXECUTED
    text = executed(folder)
    if not _same(path, text):
        path.write_text(text, encoding="utf-8")
    return path


def drift(folder: Path) -> list[str]:
    """Return the name of the executed notebook if it differs from a new execution, else nothing."""
    path = folder / EXECUTED
    name = f"{name_of(folder)}/{EXECUTED}"
    if not (folder / SOURCE).is_file() or not _is_measured(folder):
        return [name] if path.exists() else []
    return [] if _same(path, executed(folder)) else [name]


def _is_measured(folder: Path) -> bool:
    """Whether the investigation, or any part of the study, was measured."""
    return (folder / SUMMARY).is_file() or ((folder / STUDY).is_file() and any(folder.glob(f"*/{SUMMARY}")))


def executed(folder: Path) -> str:
    """Execute an investigation's notebook. Return the text of the executed notebook."""
    if not (folder / STUDY).is_file():
        require_summary(folder)
    path = folder / SOURCE
    try:
        notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(
            f"{path} cannot be read: {error}.", hint="See docs/investigations.md for how to write a notebook."
        ) from error
    execute(notebook, path, CELL_SECONDS)
    clean(notebook, path)
    text: str = jupytext.writes(notebook, fmt="ipynb")
    if len(text) > MAX_BYTES:
        raise WrongUse(
            f"{path} is {len(text) / 2**20:.1f} MiB after execution, which is too much to commit.",
            hint="Show fewer pictures, or smaller ones.",
        )
    return text


def _same(path: Path, text: str) -> bool:
    """Whether a file shows the same as `text`. Pictures may differ invisibly, as they do between machines."""
    try:
        existing = path.read_text(encoding="utf-8")
        if existing == text:
            return True
        (first, pictures), (second, other_pictures) = _split_pictures(existing), _split_pictures(text)
        return first == second and all(map(look_the_same, pictures, other_pictures))
    except (OSError, ValueError, SyntaxError):
        return False


def _split_pictures(text: str) -> tuple[Any, list[bytes]]:
    """Return a notebook's document with numbers in place of its pictures, and the pictures."""
    pictures: list[bytes] = []

    def numbered(document: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(document.get(PICTURE), str):
            return document
        pictures.append(b64decode(document[PICTURE]))
        return document | {PICTURE: len(pictures)}

    return json.loads(text, object_hook=numbered), pictures
