"""Rounding that absorbs what machines differ in: the last bits of logarithms, sums and fits."""

from __future__ import annotations

DIGITS = 10
"""More than any page shows, and a hundred times coarser than what machines differ in."""


def steady(value: float) -> float:
    """Return `value` with ten significant digits: what is 1 % up to the last bits is 1 % on every machine.

    A number is steadied before it is shown: else the last bits decide whether 0.125 is told as 0.12 or as 0.13, and
    whether a limit, such as that of 100 from which on there are no decimals, has been reached.
    """
    return float(f"{value:.{DIGITS}g}")
