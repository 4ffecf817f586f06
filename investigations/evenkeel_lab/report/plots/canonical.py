"""The canonical text of an SVG: the same one for floats that differ in their last bits, as those of two processors do.

Matplotlib names clip paths and markers by hashes of floats, and writes floats with six decimals. Here ids are numbers
in their order, and coordinates are rounded to what can be seen.
"""

from __future__ import annotations

import re
from itertools import count

DECIMALS = 2
"""A hundredth of a point cannot be seen."""
HASH = re.compile(r"\b(?:[mph]|C[0-9a-f]+_[0-9a-f]+_)[0-9a-f]{10}\b")
# Scales stay as they are: glyphs are drawn in units of their own, 64 times as large. Comments are a figure's texts.
KEPT_OR_NUMBER = re.compile(r"<!--.*?-->|scale\([^)]*\)|(?<![\w.])(-?\d+\.\d{3,}|-0)(?![\w.])")


def canonical(svg: str) -> str:
    """Return the text of an SVG with numbered ids, rounded coordinates and no spaces at the ends of lines."""
    numbers = count(1)
    ids: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        if found[0] not in ids:
            ids[found[0]] = f"i{next(numbers)}"
        return ids[found[0]]

    lines = (line.rstrip() for line in HASH.sub(numbered, svg).splitlines())
    return KEPT_OR_NUMBER.sub(_rounded, "\n".join(lines)) + "\n"


def _rounded(found: re.Match[str]) -> str:
    # Matplotlib has rounded to six decimals already. So a number that lies halfway by design (0.125) is the same here
    # on every machine, and goes the same way.
    if not found[1]:
        return found[0]
    value = round(float(found[1]), DECIMALS)
    # What is rounded to nothing has no sign.
    return f"{value + 0.0:.{DECIMALS}f}".rstrip("0").rstrip(".")
