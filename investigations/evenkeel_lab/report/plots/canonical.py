"""Canonical text of an SVG, equal if floats differ in their last bits only, as they do between processors.

Matplotlib names clip paths and markers by hashes of floats, and writes floats with six decimals. Here ids are numbers
in their order, and coordinates are rounded to visible digits. Indents, ids of unreferenced elements, and rotations by
nothing are left out, because they are a quarter of all bytes.
"""

from __future__ import annotations

import re
from itertools import count

DECIMALS = 2
"""A hundredth of a point cannot be seen."""
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
    lines = (line.strip() for line in HASH.sub(numbered, svg).splitlines())
    return KEPT_OR_NUMBER.sub(_rounded, "\n".join(lines)) + "\n"


def _rounded(match: re.Match[str]) -> str:
    # Matplotlib has rounded to six decimals already. So a number that lies halfway by design (0.125) is the same here
    # on every machine, and goes the same way.
    if not match[1]:
        return match[0]
    value = round(float(match[1]), DECIMALS)
    # Zero has no sign.
    return f"{value + 0.0:.{DECIMALS}f}".rstrip("0").rstrip(".")
