"""A flame graph, as SVG that needs no script: each box is a function, as wide as what it and its callees have cost.

It stands on what called it. Siblings are in the order of their names, so that two arms can be laid side by side, and
the same profile is drawn the same to the byte. Colours say whose code it is; the labels say it without them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from evenkeel_lab.profiling.frames import GROUPS, OTHER, function_of, group
from evenkeel_lab.profiling.stacks import Stack, beginnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.profiling.profile import Taken

WIDTH, MARGIN, ROW = 1200, 10, 17
TITLE, LEGEND = 26, 24
FONT, LETTER = 11, 6.7
LEAST_WIDTH, LEAST_LETTERS = 2.0, 3
# Okabe and Ito's, which the colour-blind can tell apart, and two greys.
COLOURS = dict(
    zip(
        GROUPS,
        ("#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#009e73", "#0072b2", "#f0e442", "#bbbbbb", "#e6e6e6"),
        strict=True,
    )
)
DARK = {"#0072b2"}


@dataclass(frozen=True)
class Box:
    """One function on one stack."""

    stack: Stack
    left: float
    """From 0 to 1, as `width`."""
    width: float


def flame(taken: Taken, title: str) -> str:
    """Draw a profile."""
    found = [one for one in boxes(taken.stacks) if one.width * (WIDTH - 2 * MARGIN) >= LEAST_WIDTH]
    depth = max((len(one.stack) for one in found), default=0)
    floor = TITLE + LEGEND + depth * ROW
    height = floor + ROW + MARGIN
    whole = f"{taken.cpu_ms:.1f} ms of CPU per {taken.unit}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>text {{ font: {FONT}px Menlo, Consolas, 'DejaVu Sans Mono', monospace }}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="{TITLE - 8}">{escape(title)}</text>',
        *_legend(taken),
        *_box(MARGIN, floor, WIDTH - 2 * MARGIN, "#ffffff", whole, whole),
    ]
    for one in found:
        name = one.stack[-1]
        told = f"{name}: {one.width * taken.cpu_ms:.2f} ms per {taken.unit}, {one.width:.1%}"
        left, width = MARGIN + one.left * (WIDTH - 2 * MARGIN), one.width * (WIDTH - 2 * MARGIN)
        lines += _box(left, floor - len(one.stack) * ROW, width, COLOURS[group(name)], label(name, width), told)
    return "\n".join([*lines, "</svg>", ""])


def boxes(stacks: Mapping[Stack, int]) -> list[Box]:
    """Return where each function of each stack stands."""
    within: Counter[Stack] = Counter()
    for stack, spent in stacks.items():
        for part in beginnings(stack):
            within[part] += spent
    whole = max(sum(stacks.values()), 1)
    found: list[Box] = []
    # Where the next child of a box begins; what a box spends itself is to the right of its children.
    free: dict[Stack, float] = {(): 0.0}
    for stack in sorted(within):
        left, width = free[stack[:-1]], within[stack] / whole
        found.append(Box(stack, left, width))
        free[stack[:-1]] = left + width
        free[stack] = left
    return found


def label(name: str, width: float) -> str:
    """Return as much of a name as there is room for: the function, then where it is."""
    letters = int((width - 4) / LETTER)
    function, where = function_of(name), name.rpartition(":")[0]
    if letters >= len(function) + len(where) + 2 and where:
        return f"{function}  {where}"
    if letters >= len(function):
        return function
    return f"{function[: letters - 1]}…" if letters >= LEAST_LETTERS else ""


def _box(left: float, top: float, width: float, colour: str, text: str, told: str) -> Iterator[str]:
    yield f"<g><title>{escape(told)}</title>"
    yield (
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW}" fill="{colour}" stroke="#ffffff"'
        ' stroke-width="0.7"/>'
    )
    if text:
        ink = "#ffffff" if colour in DARK else "#000000"
        yield f'<text x="{left + 2:.1f}" y="{top + 12}" fill="{ink}">{escape(text)}</text>'
    yield "</g>"


def _legend(taken: Taken) -> Iterator[str]:
    """Say which colour is whose code, and how much of the CPU its own lines have taken."""
    own: Counter[str] = Counter()
    for name, spent in taken.functions.items():
        own[group(name)] += spent.own
    left = float(MARGIN)
    for whose, colour in COLOURS.items():
        if not own[whose] and whose != OTHER:
            continue
        text = f"{whose} {own[whose] / max(own.total(), 1):.0%}"
        yield f'<rect x="{left:.1f}" y="{TITLE}" width="12" height="12" fill="{colour}" stroke="#666666"/>'
        yield f'<text x="{left + 16:.1f}" y="{TITLE + 10}">{escape(text)}</text>'
        left += 16 + (len(text) + 2) * LETTER
