"""Flame graphs as SVG without scripts: each box is a function, as wide as its cumulated CPU time.

A box stands on its caller. Siblings are in the order of their names: two arms can be compared side by side, and equal
profiles give equal bytes. Colours show the group of code; labels show it without colours.
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

    from evenkeel_lab.profiling.profile import ArmProfile

WIDTH, MARGIN, ROW = 1200, 10, 17
TITLE, LEGEND = 26, 24
FONT, LETTER = 11, 6.7
NOTE = ". Per cent: CPU time of the code itself, without what it calls"
LEAST_WIDTH, LEAST_LETTERS = 6.0, 3
# Okabe and Ito's, which the colour-blind can tell apart, and two greys.
COLOURS = dict(
    zip(
        GROUPS,
        ("#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#009e73", "#0072b2", "#f0e442", "#bbbbbb", "#e6e6e6"),
        strict=True,
    )
)
# The greys would be slabs of white on a dark page.
ON_DARK = dict(zip(list(GROUPS)[-2:], ("#98a2ac", "#7d8790"), strict=True))
CLASSES = {name: f"c{number}" for number, name in enumerate(COLOURS)}
# Groups whose labels are white.
DARK = {name for name, colour in COLOURS.items() if colour == "#0072b2"}
STYLE = " ".join(
    [
        f"text {{ font: {FONT}px Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1a1a1a }}",
        ".page { fill: #ffffff } .boxes rect { stroke: #ffffff; stroke-width: 0.7 } .boxes text { fill: #000000 }",
        ".boxes .light { fill: #ffffff } .boxes .whole { fill: none } .boxes .ink { fill: #1a1a1a }",
        *(f".{CLASSES[name]} {{ fill: {colour} }}" for name, colour in COLOURS.items()),
        "@media (prefers-color-scheme: dark) { text, .boxes .ink { fill: #e3e8ed } .page { fill: #12171c }",
        ".boxes rect { stroke: #12171c }",
        *(f".{CLASSES[name]} {{ fill: {colour} }}" for name, colour in ON_DARK.items()),
        "}",
    ]
)


@dataclass(frozen=True)
class Box:
    """A function on a stack."""

    stack: Stack
    left: float
    """From 0 to 1, as `width`."""
    width: float


def flame(profile: ArmProfile, title: str) -> str:
    """Draw a profile."""
    visible = [box for box in boxes(profile.stacks) if box.width * (WIDTH - 2 * MARGIN) >= LEAST_WIDTH]
    depth = max((len(box.stack) for box in visible), default=0)
    floor = TITLE + LEGEND + depth * ROW
    height = floor + ROW + MARGIN
    whole = f"{profile.cpu_ms:.1f} ms of CPU time per {profile.unit}, by function: each stands on its caller"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text x="{MARGIN}" y="{TITLE - 8}">{escape(title)}{NOTE}</text>',
        *_legend(profile),
        '<g class="boxes">',
        *_box(MARGIN, floor, WIDTH - 2 * MARGIN, ("whole", "ink"), whole, whole),
    ]
    for box in visible:
        name = box.stack[-1]
        of_group = group(name)
        tooltip = f"{name}: {box.width * profile.cpu_ms:.2f} ms per {profile.unit}, {box.width:.1%}"
        left, width = MARGIN + box.left * (WIDTH - 2 * MARGIN), box.width * (WIDTH - 2 * MARGIN)
        classes = CLASSES[of_group], "light" if of_group in DARK else ""
        lines += _box(left, floor - len(box.stack) * ROW, width, classes, label(name, width), tooltip)
    return "\n".join([*lines, "</g>", "</svg>", ""])


def boxes(stacks: Mapping[Stack, int]) -> list[Box]:
    """Return the boxes of all functions of all stacks."""
    within: Counter[Stack] = Counter()
    for stack, spent in stacks.items():
        for part in beginnings(stack):
            within[part] += spent
    whole = max(sum(stacks.values()), 1)
    placed: list[Box] = []
    # The left edge of a box's next child. The box's own cost is to the right of its children.
    free: dict[Stack, float] = {(): 0.0}
    for stack in sorted(within):
        left, width = free[stack[:-1]], within[stack] / whole
        placed.append(Box(stack, left, width))
        free[stack[:-1]] = left + width
        free[stack] = left
    return placed


def label(name: str, width: float) -> str:
    """Return the part of a name that fits in `width`: first the function, then its module."""
    letters = int((width - 4) / LETTER)
    function, where = function_of(name), name.rpartition(":")[0]
    if letters >= len(function) + len(where) + 2 and where:
        return f"{function}  {where}"
    if letters >= len(function):
        return function
    return f"{function[: letters - 1]}…" if letters >= LEAST_LETTERS else ""


def _box(left: float, top: float, width: float, classes: tuple[str, str], text: str, title: str) -> Iterator[str]:
    """Yield a box; `classes` are those of its rectangle and of its label."""
    of_box, of_label = classes
    yield f"<g><title>{escape(title)}</title>"
    yield f'<rect class="{of_box}" x="{_number(left)}" y="{top}" width="{_number(width)}" height="{ROW}"/>'
    if text:
        attribute = f' class="{of_label}"' if of_label else ""
        yield f'<text{attribute} x="{_number(left + 2)}" y="{top + 12}">{escape(text)}</text>'
    yield "</g>"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _legend(profile: ArmProfile) -> Iterator[str]:
    """Yield the legend: the colour of each group of code, and its share of the CPU."""
    own: Counter[str] = Counter()
    for function, spent in profile.functions.items():
        own[group(function)] += spent.own
    left = float(MARGIN)
    for name, of_group in CLASSES.items():
        if not own[name] and name != OTHER:
            continue
        text = f"{name} {100 * own[name] / max(own.total(), 1):.0f} %"
        yield f'<rect class="{of_group}" x="{_number(left)}" y="{TITLE}" width="12" height="12" stroke="#666666"/>'
        yield f'<text x="{_number(left + 16)}" y="{TITLE + 10}">{escape(text)}</text>'
        left += 16 + (len(text) + 2) * LETTER
