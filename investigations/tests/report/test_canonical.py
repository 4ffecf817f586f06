"""Canonical text of an SVG, without invisible differences."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.font_manager import FontProperties, findfont

from evenkeel_lab.report.plots.canonical import canonical
from evenkeel_lab.report.plots.style import style

DRAWN = """<?xml version="1.0"?>
<svg width="648pt" version="1.1">
<path d="M {x} 2.5
" clip-path="url(#p{clip})" transform="translate({x} -0) scale(0.015625)"/>
<!-- 0.12345 -->
<use xlink:href="#m{marker}"/><use xlink:href="#DejaVuSans-0"/>
<clipPath id="p{clip}"><path id="C0_1_{marker}" d="M -0.000001 {x}"/></clipPath>
"""


def test_referenced_ids_are_numbers_in_their_order_and_coordinates_are_hundredths() -> None:
    drawn = DRAWN.format(x="12.345678", clip="0123456789", marker="abcdef0123")
    assert canonical(drawn) == (
        '<?xml version="1.0"?>\n'
        '<svg width="648pt" version="1.1">\n'
        '<path d="M12.3 2.5" clip-path="url(#i1)" transform="translate(12.35 0) scale(0.015625)"/>\n'
        "<!-- 0.12345 -->\n"
        '<use xlink:href="#i2"/><use xlink:href="#DejaVuSans-0"/>\n'
        '<clipPath id="i1"><path d="M0 12.3"/></clipPath>\n'
    )


@pytest.mark.parametrize(("x", "other"), [("2.999999", "3"), ("0.000001", "-0"), ("64.799999", "64.8")])
def test_the_last_bits_of_numbers_are_dropped(x: str, other: str) -> None:
    drawn = DRAWN.format(x=x, clip="0123456789", marker="abcdef0123")
    other_machine = DRAWN.format(x=other, clip="9876543210", marker="3210fedcba")
    assert canonical(drawn) == canonical(other_machine)


def test_a_canonical_text_stays_the_same() -> None:
    once = canonical(DRAWN.format(x="0.125", clip="0123456789", marker="abcdef0123"))
    assert canonical(once) == once


@pytest.mark.parametrize(
    ("lines", "shortened"),
    [
        ("M 1 2\nL 3.25 2\nL 3.25 4.5\nL 1 4.5\nz\nM 5 5\nL 6 6\n", "M1 2H3.2V4.5H1zM5 5L6 6"),
        ("M 1 2\nL 3 2\nL 5 2\nL 5 2.01\nL 5 7", "M1 2H5V7"),
        ("M 1 2\nL 1 8\nL 1 0\nL 4 0", "M1 2V8V0H4"),
        ("M 0 0\nC 1 2 3 4 5 6\nL 1 1", "M 0 0\nC 1 2 3 4 5 6\nL 1 1"),
    ],
)
def test_straight_lines_are_short_and_curves_stay(lines: str, shortened: str) -> None:
    assert canonical(f'<path d="{lines}"/>') == f'<path d="{shortened}"/>\n'


def test_groups_without_attributes_are_left_out_and_others_stay() -> None:
    drawn = '<svg>\n<g>\n<g clip-path="url(#i1)">\n<g>\n<path d="M1 2"/>\n</g>\n</g>\n<g/>\n</g>\n</svg>'
    assert canonical(drawn) == '<svg>\n<g clip-path="url(#i1)">\n<path d="M1 2"/>\n</g>\n</svg>\n'


def test_rotations_by_nothing_and_indents_are_left_out() -> None:
    turned = '<text transform="rotate(-90 1 2)">a b</text>'
    drawn = f'<svg>\n  <text x="1" transform="rotate(-0 1 2)">one</text>\n {turned}</svg>'
    assert canonical(drawn) == f'<svg>\n<text x="1">one</text>\n{turned}</svg>\n'


@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_glyphs_are_those_of_matplotlib_whatever_fonts_a_machine_has(weight: str) -> None:
    with style():
        path = Path(findfont(FontProperties(weight=weight), fallback_to_default=False))
    assert Path(mpl.get_data_path()).resolve() in path.resolve().parents
    assert path.name.startswith("DejaVuSans")
