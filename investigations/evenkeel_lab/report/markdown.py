"""Markdown that reads well as plain text: padded tables, folded paragraphs, escaped foreign text."""

from __future__ import annotations

import re
import textwrap
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

WIDTH = 110
# A table with longer lines is not padded: its source would be mostly spaces, and still not readable.
MAX_PADDED = 200
# A number keeps its unit on its line.
UNIT, HELD = re.compile(r"(?<=\d) (?=%|(?:ms|s|points|MiB|pairs)\b)"), "\u00a0"
# Inline markup. Pieces of `code` are left as they are.
CODE = re.compile(r"(`[^`]+`)")
ESCAPED_STRONG = re.compile(r"\\\*\\\*(?=\S)(.+?)(?<=\S)\\\*\\\*")
MARKUP = re.compile(r"[\\*<`$~]|](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
# Markup at the beginning of a line: lists, quotations, headings and rules.
BLOCK = re.compile(r"(?:[-+](?=\s|$)|>|#{1,6}(?=\s|$)|[=|:-]+\s*$|\d+(?=[.)](?:\s|$)))")


def text(raw: str) -> str:
    """Return `raw` on one line, with all markup but code escaped."""
    line = "".join(character for character in " ".join(raw.split()) if character.isprintable())
    return "".join(part if number % 2 else MARKUP.sub(r"\\\g<0>", part) for number, part in enumerate(CODE.split(line)))


def prose(raw: str) -> str:
    """Return `raw` on one line, with all markup but code and **strong emphasis** escaped."""
    return ESCAPED_STRONG.sub(r"**\1**", text(raw))


def code(raw: str) -> str:
    """Return `raw` as inline code. It may contain backticks."""
    line = " ".join(raw.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def paragraph(content: str, begin: str = "") -> str:
    """Fold a paragraph. A list item begins with `begin`."""
    held = UNIT.sub(HELD, content)
    lines = textwrap.wrap(held, WIDTH - len(begin), break_long_words=False, break_on_hyphens=False)
    first, *following = [_escape_block(line.replace(HELD, " ")) for line in lines] or [""]
    return "\n".join([begin + first, *(" " * len(begin) + line for line in following)])


def items(texts: Sequence[str]) -> str:
    """Return `texts` as a list."""
    return "\n".join(paragraph(each, "- ") for each in texts)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = (), *, drops_empty: bool = False
) -> str:
    """Return a table, with padded columns if its lines fit. Columns in `right` are aligned to the right.

    With `drops_empty`, columns without any content are left out.
    """
    if drops_empty and rows:
        filled = [column for column in range(len(head)) if any(row[column] for row in rows)]
        head, rows = [head[column] for column in filled], [[row[column] for column in filled] for row in rows]
    cells = [[_cell(cell) for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]
    if sum(widths) + 3 * len(widths) + 1 > MAX_PADDED:
        widths = [3] * len(widths)

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(row, widths, head, strict=True)
        ]
        return f"| {' | '.join(padded)} |"

    rule = [f"{'-' * (width - 1)}:" if name in right else "-" * width for name, width in zip(head, widths, strict=True)]
    return "\n".join([line(cells[0]), f"| {' | '.join(rule)} |", *map(line, cells[1:])])


def picture(alt: str, path: str, command: str = "") -> str:
    """Return a picture with its `alt` text, and below it the command that draws it, if there is one."""
    shown = f"![{text(alt)}]({path})"
    return f"{shown}\n\n*{PurePosixPath(path).name}, drawn by* {code(command)}" if command else shown


def fenced(lines: Sequence[str], language: str) -> str:
    """Return a code block."""
    return "\n".join([f"```{language}", *lines, "```"])


def _cell(content: str) -> str:
    # Renderers read a bar after a backslash differently, so it is written as an entity.
    return re.sub(r"(\\?)\|", lambda match: r"\&#124;" if match[1] else r"\|", " ".join(content.split()))


def _escape_block(line: str) -> str:
    match = BLOCK.match(line)
    if match is None:
        return line
    digits = re.match(r"\d+", line)
    return f"{digits[0]}\\{line[digits.end() :]}" if digits else f"\\{line}"
