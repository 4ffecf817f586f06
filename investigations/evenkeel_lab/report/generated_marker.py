"""What says of a file that it was made here: without it, a file is somebody's own, and is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def marked(name: str, text: str) -> str:
    """Return a text with the mark of its file, which is named by its path below the place of reports."""
    return f"{text.rstrip()}\n\n{_mark(name)}\n"


def is_marked(path: Path, name: str) -> bool:
    """Whether a file was made under this name; a copy under another one is none of ours."""
    return path.is_file() and path.read_bytes().rstrip().endswith(_mark(name).encode())


def _mark(name: str) -> str:
    # Two hyphens would end the comment, and a figure with them would be no XML.
    told = name.replace("--", "- -")
    return f"<!-- {told} was made by evenkeel report: what is changed by hand gets lost -->"
