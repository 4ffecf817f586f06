"""Times, amounts and names, as sentences say them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = (("d", 86_400), ("h", 3600), ("min", 60))
A_FEW = 3
SMALL, WHOLE = 10, 100


def time(seconds: float) -> str:
    """Return a span: `0.4 s`, `12 s`, `2 h 5 min`."""
    if seconds == math.inf:
        return "for ever"
    if seconds < UNITS[-1][1]:
        return f"{seconds:.1f} s" if seconds < SMALL else f"{seconds:.0f} s"
    (large, each), *smaller = [one for one in UNITS if seconds >= one[1]]
    whole = int(seconds // each)
    unit, part = smaller[0] if smaller else _below(large)
    rest = int(seconds % each // part)
    return f"{whole} {large} {rest} {unit}" if rest else f"{whole} {large}"


def amount(number: float) -> str:
    """Return an amount: `1,200`, `3.5`, `0.042`."""
    if number >= WHOLE or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def share(number: float) -> str:
    """Return a share: `31 %`, `0.4 %`."""
    percent = 100 * number
    return f"{percent:.0f} %" if percent >= SMALL or percent == int(percent) else f"{percent:.1f} %"


def names(several: Sequence[str]) -> str:
    """Return a few names, and how many there are more."""
    shown = ", ".join(several[:A_FEW])
    return shown if len(several) <= A_FEW else f"{shown} and {len(several) - A_FEW} more"


def finite(number: float | None) -> float | None:
    """Return a number as JSON has it: what is infinite, or unknown, is null."""
    return None if number is None or not math.isfinite(number) else round(number, 6)


def _below(unit: str) -> tuple[str, int]:
    named = [name for name, _ in UNITS]
    place = named.index(unit) + 1
    return UNITS[place] if place < len(UNITS) else ("s", 1)
