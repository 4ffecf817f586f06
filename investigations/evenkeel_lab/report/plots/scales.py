"""Ticks that people say: 1, 2, 5, 10 and so on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axis import Axis

SECOND_MS = 1000
# No axis goes further: what lies beyond is no latency, and too much for a logarithm's ticks.
TINY, HUGE = 1e-9, 1e15
# Below so many times the smallest value, ticks are as far from each other as on any other axis.
NARROW = 5.0
ENOUGH, MANY = 4, 8
STEPS: tuple[tuple[float, ...], ...] = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7))


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks between two ends of a logarithmic axis."""
    if high / low < NARROW:
        even = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return [float(f"{one:.6g}") for one in even if low <= one <= high]
    found: list[float] = []
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in STEPS:
        ticks = [float(f"{step * 10.0**decade:.6g}") for decade in decades for step in steps]
        found = [one for one in ticks if low <= one <= high]
        if len(found) >= ENOUGH:
            break
    return found[:: math.ceil(len(found) / MANY) or 1]


def log_axis(axis: Axis, low: float, high: float, unit: str) -> None:
    """Make an axis logarithmic, with ticks in the figure's unit."""
    # Ends first: else they would be sought among all values, however far these go.
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high), f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]  # the stubs forget axis_name
    axis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: said(value, unit)))


def said(value: float, unit: str) -> str:
    """Say a tick."""
    if unit == "ms" and value >= SECOND_MS:
        return f"{value / SECOND_MS:.4g} s"
    return f"{value:.4g} {unit}".rstrip()


def around(values: Sequence[float], room: float = 0.08) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that has room for all of these."""
    low, high = (min(max(value, TINY), HUGE) for value in (min(values), max(values)))
    by = max((high / low) ** room, 1.02)
    return low / by, high * by
