"""Examples in README and docs: fenced blocks, and the commands of those that show a terminal."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
PROMPT = "$ "
# Between the commands of one line, and before the file to which output is written.
SEPARATORS = frozenset({"&&", "||", "|", ";"})


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """Commands after a prompt, each with the lines that continue it; what they print is left out."""
        commands: list[list[str]] = []
        is_continued = is_loop = False
        for line in self.text.splitlines():
            if line.startswith(PROMPT):
                commands.append([line.removeprefix(PROMPT)])
                is_loop = line.endswith("; do")
            elif commands and (is_continued or is_loop):
                commands[-1].append(line)
                is_loop = is_loop and line.strip() != "done"
            is_continued = line.endswith("\\")
        return ["\n".join(lines) for lines in commands]


def blocks(language: str | None = None) -> Iterator[Block]:
    """Yield the blocks of all pages, or those in one language."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if language in {None, match[2]}:
                indent = len(match[1])
                body = "".join(line[indent:] for line in match[3].splitlines(keepends=True))
                yield Block(str(page.relative_to(ROOT)), text[: match.start()].count("\n") + 1, match[2], body)


def simple_commands(command: str) -> Iterator[list[str]]:
    """Yield the words of each simple command of a command line, without variables and redirections."""
    words: list[str] = []
    for word in [*shlex.split(command, comments=True), ";"]:
        if word in SEPARATORS:
            while words and re.match(r"\w+=", words[0]):
                words.pop(0)
            if ">" in words:
                words = words[: words.index(">")]
            if words:
                yield words
            words = []
        else:
            words.append(word)
