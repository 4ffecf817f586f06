"""Markdown that reads well as plain text: padded tables, folded paragraphs, and text of others that stays text."""

from __future__ import annotations

import re
import textwrap
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

WIDTH = 110
# A number keeps its unit on its line.
UNIT, HELD = re.compile(r"(?<=\d) (?=%|(?:ms|s|points|MiB|pairs)\b)"), "\u00a0"
# What would be read as markup within a line; a piece of `code` is left as it is.
CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"[\\*<`$~]|](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
# What would begin a list, a quotation, a heading or a line at the beginning of a line.
BLOCK = re.compile(r"(?:[-+](?=\s|$)|>|#{1,6}(?=\s|$)|[=|:-]+\s*$|\d+(?=[.)](?:\s|$)))")


def text(told: str) -> str:
    """Return a text of somebody else's, on one line, without any markup but code."""
    line = "".join(one for one in " ".join(told.split()) if one.isprintable())
    return "".join(part if number % 2 else MARKUP.sub(r"\\\g<0>", part) for number, part in enumerate(CODE.split(line)))


def code(told: str) -> str:
    """Return a piece of code, whatever it holds."""
    line = " ".join(told.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def paragraph(told: str, begin: str = "") -> str:
    """Fold a paragraph, or an item of a list that begins with `begin`."""
    held = UNIT.sub(HELD, told)
    lines = textwrap.wrap(held, WIDTH - len(begin), break_long_words=False, break_on_hyphens=False)
    first, *others = [_shielded(line.replace(HELD, " ")) for line in lines] or [""]
    return "\n".join([begin + first, *(" " * len(begin) + line for line in others)])


def items(told: Sequence[str]) -> str:
    """Return a list."""
    return "\n".join(paragraph(one, "- ") for one in told)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> str:
    """Return a table whose columns are as wide as what is in them; those in `right` hold numbers."""
    cells = [[_cell(one) for one in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = [
            one.rjust(width) if name in right else one.ljust(width)
            for one, width, name in zip(row, widths, head, strict=True)
        ]
        return f"| {' | '.join(padded)} |"

    rule = [f"{'-' * (width - 1)}:" if name in right else "-" * width for name, width in zip(head, widths, strict=True)]
    return "\n".join([line(cells[0]), f"| {' | '.join(rule)} |", *map(line, cells[1:])])


def picture(alt: str, path: str, command: str = "") -> str:
    """Return a picture, on a line of its own, with what it shows in words; below it the command that draws it."""
    shown = f"![{text(alt)}]({path})"
    return f"{shown}\n\n*{PurePosixPath(path).name}, drawn by* {code(command)}" if command else shown


def fenced(lines: Sequence[str], language: str) -> str:
    """Return lines of code."""
    return "\n".join([f"```{language}", *lines, "```"])


def _cell(told: str) -> str:
    # A bar that follows a backslash is read in different ways, so that it gets a name.
    return re.sub(r"(\\?)\|", lambda found: r"\&#124;" if found[1] else r"\|", " ".join(told.split()))


def _shielded(line: str) -> str:
    found = BLOCK.match(line)
    if found is None:
        return line
    digits = re.match(r"\d+", line)
    return f"{digits[0]}\\{line[digits.end() :]}" if digits else f"\\{line}"
