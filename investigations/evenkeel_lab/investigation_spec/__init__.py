"""Investigations, as their `investigation.toml` asks for them: a question, arms, a load, margins fixed beforehand.

What takes several of them is a book, each of them a chapter.
"""

from __future__ import annotations

from evenkeel_lab.investigation_spec.arm import Arm
from evenkeel_lab.investigation_spec.investigation import Investigation
from evenkeel_lab.investigation_spec.read import books, find, known, name_of, read, read_book
from evenkeel_lab.investigation_spec.study import Book
from evenkeel_lab.investigation_spec.template import readme, template

__all__ = [
    "Arm",
    "Book",
    "Investigation",
    "books",
    "find",
    "known",
    "name_of",
    "read",
    "read_book",
    "readme",
    "template",
]
