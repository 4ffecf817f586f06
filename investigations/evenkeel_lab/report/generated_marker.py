"""Marker of generated files. Files without it are never changed or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


GENERATED_SUFFIX = ".speedscope.json"


def marked(name: str, text: str) -> str:
    """Append the marker to `text`. `name` is the file's path below the folder of reports.

    JSON has no comments: such a file is recognised by its name.
    """
    if name.endswith(GENERATED_SUFFIX):
        return f"{text}\n"
    return f"{text.rstrip()}\n\n{_mark(name)}\n"


def is_marked(path: Path, name: str) -> bool:
    """Whether a file was generated as `name`. A copy under another name does not count."""
    if name.endswith(GENERATED_SUFFIX):
        return path.is_file()
    return path.is_file() and path.read_bytes().rstrip().endswith(_mark(name).encode())


def _mark(name: str) -> str:
    # Two hyphens would end the comment, and an SVG with them would be invalid XML.
    shown_name = name.replace("--", "- -")
    return f"<!-- {shown_name} was made by evenkeel report: what is changed by hand gets lost -->"
