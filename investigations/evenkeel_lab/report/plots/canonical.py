"""Canonical text of an SVG, equal if floats differ in their last bits only, as they do between processors.

Matplotlib names clip paths and markers by hashes of floats, and writes floats with six decimals. Here ids are numbers
in their order, and coordinates are rounded to visible digits. Indents, ids of unreferenced elements, groups without any
attribute, and rotations by nothing are left out, and straight lines are written shortly.
"""

from __future__ import annotations

import re
from itertools import count

DECIMALS, DECIMALS_OF_LINES = 2, 1
"""A hundredth of a point cannot be seen, and along a line a tenth cannot."""
LINES = re.compile(r' d="([MLz\d.\s-]+)"')
GROUP = re.compile(r"<g( [^>]*)?/?>|</g>")
COMMAND = re.compile(r"[ML]\s*(-?[\d.]+)\s+(-?[\d.]+)|z")
HASH = re.compile(r"\b(?:[mph]|C[0-9a-f]+_[0-9a-f]+_)[0-9a-f]{10}\b")
# Texts stay as they are, and scales: glyphs are drawn in units of their own, 64 times as large.
ID, REFERENCE = re.compile(r' id="([^"]+)"'), re.compile(r'(?:url\(|href=")#([^")]+)')
NO_ROTATION = re.compile(r' transform="rotate\(-?0 [^"]*\)"')
KEPT_OR_NUMBER = re.compile(r"<!--.*?-->|>[^<\n]+</text>|scale\([^)]*\)|(?<![\w.])(-?\d+\.\d{3,}|-0)(?![\w.])")


def canonical(svg: str) -> str:
    """Return the text of an SVG with numbered ids, rounded coordinates and nothing that cannot be seen."""
    numbers = count(1)
    ids: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        if match[0] not in ids:
            ids[match[0]] = f"i{next(numbers)}"
        return ids[match[0]]

    referenced = set(REFERENCE.findall(svg))
    svg = ID.sub(lambda match: match[0] if match[1] in referenced else "", NO_ROTATION.sub("", svg))
    lines = (line.strip() for line in _ungrouped(HASH.sub(numbered, svg)).splitlines())
    rounded = KEPT_OR_NUMBER.sub(_rounded, "\n".join(filter(None, lines)))
    return LINES.sub(_shortened, rounded) + "\n"


def _ungrouped(svg: str) -> str:
    """Return an SVG without groups that have no attribute, or no content."""
    is_left_out: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] == "</g>":
            return "" if is_left_out.pop() else tag[0]
        is_left_out.append(not tag[1])
        return tag[0] if tag[1] else ""

    return GROUP.sub(kept, svg)


def _shortened(match: re.Match[str]) -> str:
    """Return straight lines without what follows from the point before: H and V are horizontal and vertical lines."""
    commands: list[tuple[str, str]] = []
    before = here = start = ("", "")
    for step in COMMAND.finditer(match[1]):
        if step[0] == "z":
            commands.append(("z", ""))
            before = here = start
            continue
        there = (_short(float(step[1]), DECIMALS_OF_LINES), _short(float(step[2]), DECIMALS_OF_LINES))
        letter, value = step[0][0], " ".join(there)
        if letter == "M":
            start = there
        elif there == here:
            continue
        elif there[1] == here[1]:
            letter, value = "H", there[0]
        elif there[0] == here[0]:
            letter, value = "V", there[1]
        if commands and commands[-1][0] == letter and letter in "HV":
            axis = "HV".index(letter)
            length, last_length = float(there[axis]) - float(here[axis]), float(here[axis]) - float(before[axis])
            if length * last_length > 0:
                # The line goes on in the same direction.
                commands.pop()
        commands.append((letter, value))
        before, here = here, there
    return f' d="{"".join(letter + value for letter, value in commands)}"'


def _rounded(match: re.Match[str]) -> str:
    # Matplotlib has rounded to six decimals already. So a number that lies halfway by design (0.125) is the same here
    # on every machine, and goes the same way.
    if not match[1]:
        return match[0]
    return _short(float(match[1]), DECIMALS)


def _short(value: float, decimals: int) -> str:
    # Zero has no sign.
    return f"{round(value, decimals) + 0.0:.{decimals}f}".rstrip("0").rstrip(".")
