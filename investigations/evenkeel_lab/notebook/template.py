"""First notebook of a new investigation. It fits every investigation and is meant to be changed."""

from __future__ import annotations

from pathlib import Path

FILE = "notebook.py"
TEMPLATE = Path(__file__).with_name("template_notebook.py")


def first_notebook() -> str:
    """Return the source of the first notebook."""
    return TEMPLATE.read_text(encoding="utf-8")
