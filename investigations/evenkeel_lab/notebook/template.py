"""The notebook that a new investigation begins with: it fits every one, and is there to be changed."""

from __future__ import annotations

from pathlib import Path

FILE = "notebook.py"
FIRST = Path(__file__).with_name("template_notebook.py")


def first_notebook() -> str:
    """Return its text."""
    return FIRST.read_text(encoding="utf-8")
