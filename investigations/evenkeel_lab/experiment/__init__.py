"""Investigations, as their `investigation.toml` asks for them: a question, arms, a load, margins fixed beforehand.

What takes several of them is a book, each of them a chapter.
"""

from __future__ import annotations

from evenkeel_lab.experiment.arm import Arm
from evenkeel_lab.experiment.book import Book
from evenkeel_lab.experiment.investigation import Investigation
from evenkeel_lab.experiment.read import books, find, known, name_of, read, read_book
from evenkeel_lab.experiment.template import readme, template

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
