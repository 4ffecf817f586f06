"""Text forms of durations, amounts, shares and lists of names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
MINUTE = 60
MAX_NAMES = 3
# From 10 on, a number of seconds or a percentage has no decimals; from 100 on, an amount has none.
WHOLE_SECONDS_FROM = 10
WHOLE_PERCENT_FROM = 10
WHOLE_AMOUNT_FROM = 100


def time(seconds: float) -> str:
    """Return a duration as text, such as `0.4 s`, `12 s` or `2 h 5 min`; `for ever` if it is infinite."""
    if seconds == math.inf:
        return "for ever"
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < WHOLE_SECONDS_FROM else f"{seconds:.0f} s"
    (unit, size), (next_unit, next_size), *_ = [entry for entry in UNITS if seconds >= entry[1]]
    whole = int(seconds // size)
    rest = int(seconds % size // next_size)
    return f"{whole} {unit} {rest} {next_unit}" if rest else f"{whole} {unit}"


def amount(number: float) -> str:
    """Return an amount as text, such as `1,200`, `3.5` or `0.042`."""
    if number >= WHOLE_AMOUNT_FROM or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def share(number: float) -> str:
    """Return a share from 0 to 1 as a percentage, such as `31 %` or `0.4 %`."""
    percent = 100 * number
    return f"{percent:.0f} %" if percent >= WHOLE_PERCENT_FROM or percent == int(percent) else f"{percent:.1f} %"


def names(items: Sequence[str], max_names: int = MAX_NAMES) -> str:
    """Return the first `max_names` names, and how many more there are."""
    shown = ", ".join(items[:max_names])
    return shown if len(items) <= max_names else f"{shown} and {len(items) - max_names} more"


def finite(number: float | None) -> float | None:
    """Return a number that JSON can hold; `None` if it is infinite or unknown."""
    return None if number is None or not math.isfinite(number) else round(number, 6)
