"""Rounding that absorbs differences between machines: the last bits of logarithms, sums and fits."""

from __future__ import annotations

DIGITS = 10
"""Significant digits: more than any page shows, and a hundred times coarser than machines differ."""


def steady(value: float) -> float:
    """Return `value` with ten significant digits, so that every machine shows the same number.

    Otherwise the last bits decide whether 0.125 is shown as 0.12 or as 0.13, and whether a number has reached a limit
    such as 100, from which on no decimals are shown.
    """
    return float(f"{value:.{DIGITS}g}")
