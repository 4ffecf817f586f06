"""Marker of generated files. Files without it are never changed or removed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def marked(name: str, text: str) -> str:
    """Append the marker to `text`. `name` is the file's path below the folder of reports.

    JSON has no comments, so the marker is a field of it.
    """
    if name.endswith(".json"):
        return f"{json.dumps({'exporter': _mark(name)} | json.loads(text), separators=(',', ':'))}\n"
    return f"{text.rstrip()}\n\n{_mark(name)}\n"


def is_marked(path: Path, name: str) -> bool:
    """Whether a file was generated as `name`. A copy under another name does not count."""
    if name.endswith(".json"):
        return path.is_file() and path.read_text(encoding="utf-8").startswith(f'{{"exporter":{json.dumps(_mark(name))}')
    return path.is_file() and path.read_bytes().rstrip().endswith(_mark(name).encode())


def _mark(name: str) -> str:
    # Two hyphens would end the comment, and an SVG with them would be invalid XML.
    shown_name = name.replace("--", "- -")
    return f"<!-- {shown_name} was made by evenkeel report: what is changed by hand gets lost -->"
