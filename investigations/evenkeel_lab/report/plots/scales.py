"""Logarithmic axes with round ticks: 1, 2, 5, 10 and so on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axis import Axis

THOUSAND, MILLION = 1000, 1_000_000
LARGER_UNITS = {"us": "ms", "ms": "s"}
# Limits of every axis: values beyond are no latencies, and would need too many ticks.
TINY, HUGE = 1e-9, 1e15
# If the ends differ by less than this factor, ticks are spaced evenly.
NARROW = 5.0
ENOUGH, MANY = 4, 8
# Numbers of ticks that are spaced evenly; more if the ends have none.
COUNTS = (6, 9)
# The part of an axis that may have no tick at each of its ends.
BARE = 0.2
STEPS: tuple[tuple[float, ...], ...] = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 3, 4, 5, 7))


def log_ticks(low: float, high: float, bare: float = 1.0) -> list[float]:
    """Return ticks between two ends of a logarithmic axis. A part `bare` of it at each end may have none."""
    widest = (high / low) ** bare
    chosen: list[float] = []
    if high / low < NARROW:
        for count in COUNTS:
            even = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
            chosen = [float(f"{tick:.6g}") for tick in even if low <= tick <= high]
            if chosen and max(chosen[0] / low, high / chosen[-1]) <= widest:
                break
        return chosen
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in STEPS:
        ticks = [float(f"{step * 10.0**decade:.6g}") for decade in decades for step in steps]
        chosen = [tick for tick in ticks if low <= tick <= high]
        if len(chosen) >= ENOUGH and max(chosen[0] / low, high / chosen[-1]) <= widest:
            break
    return chosen[:: math.ceil(len(chosen) / MANY) or 1]


def log_axis(axis: Axis, low: float, high: float, unit: str) -> None:
    """Make an axis logarithmic, with ticks in `unit`."""
    # Limits first: otherwise matplotlib computes ticks for all values, however large.
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high), f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]  # the stubs forget axis_name
    axis.set_major_locator(FixedLocator(log_ticks(low, high, BARE)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_label(value, unit)))


def tick_label(value: float, unit: str) -> str:
    """Return the text of a tick."""
    while unit in LARGER_UNITS and value >= THOUSAND:
        value, unit = value / THOUSAND, LARGER_UNITS[unit]
    number = f"{value:,.0f}" if THOUSAND <= value < MILLION else f"{value:.4g}"
    return f"{number} {unit}".rstrip()


def around(values: Sequence[float], room: float = 0.08) -> tuple[float, float]:
    """Return the ends of a logarithmic axis with room around `values`."""
    low, high = (min(max(value, TINY), HUGE) for value in (min(values), max(values)))
    by = max((high / low) ** room, 1.02)
    return low / by, high * by
