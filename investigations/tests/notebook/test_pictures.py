"""Comparison of pictures: invisible differences are ignored, visible ones are not."""

from __future__ import annotations

import io
from itertools import combinations
from typing import Any

import pytest
from matplotlib.figure import Figure
from PIL import Image

from evenkeel_lab.notebook.pictures import look_the_same


def picture(label: str = "0.15 ms", *, at: float = 0.5, width: float = 4.0) -> bytes:
    drawn = Figure(figsize=(width, 2), dpi=72, layout="constrained")
    axes = drawn.subplots()
    axes.axhline(at)
    axes.plot([0, 1], [0, 1])
    axes.set_title(label)
    file = io.BytesIO()
    drawn.savefig(file, format="png")
    return file.getvalue()


def shaded(at: int, level: int = 0) -> bytes:
    """Return a picture with one line of pixels."""
    drawn = Image.new("L", (40, 40), 255)
    drawn.paste(level, (0, at, 40, at + 1))
    file = io.BytesIO()
    drawn.convert("RGB").save(file, "png")
    return file.getvalue()


@pytest.mark.parametrize("moved", [1e-12, 1e-3])
def test_an_invisible_move_is_ignored(moved: float) -> None:
    assert look_the_same(picture(), picture(at=0.5 + moved))


def test_a_line_that_moved_by_one_pixel_is_ignored() -> None:
    first, second = (shaded(at) for at in (20, 21))
    assert first != second
    assert look_the_same(first, second)
    assert not look_the_same(first, shaded(22))


def test_a_slightly_different_shade_is_ignored() -> None:
    assert look_the_same(shaded(20, 100), shaded(20, 103))
    assert not look_the_same(shaded(20, 100), shaded(20, 150))


@pytest.mark.parametrize(
    "changed", [{"label": "0.16 ms"}, {"label": "-0.15 ms"}, {"label": "015 ms"}, {"at": 0.53}, {"width": 4.1}]
)
def test_a_visible_change_is_a_difference(changed: dict[str, Any]) -> None:
    other = picture(**changed)
    assert not look_the_same(picture(), other)
    assert not look_the_same(other, picture())


def test_every_digit_differs_from_every_other_digit() -> None:
    digits = [picture(f"0.{digit}5 ms") for digit in range(10)]
    assert not [pair for pair in combinations(digits, 2) if look_the_same(*pair)]
