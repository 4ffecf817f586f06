"""Figures: drawn where there is something to show, and what they are drawn with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, strategies as st

from evenkeel_lab.report.case import case_of
from evenkeel_lab.report.figures import FIGURES
from evenkeel_lab.report.figures.scales import apart, log_ticks, said
from evenkeel_lab.report.figures.style import LONGEST, looks, short
from evenkeel_lab.report.page import page

if TYPE_CHECKING:
    from evenkeel_lab.session.summary import Summary

FUNCTION = {"about": "x", "subject": "function", "function": "evenkeel_lab.bench.simulation:median"}
ABLATION = {"full": "on", "switches": {"budgets": {"about": "no budgets", "arm": "less"}}}
LONG = "a-very-long-name-of-an-arm-that-goes-on-and-on"


def drawn(summary: Summary) -> set[str]:
    judgement = case_of(summary).judgement
    return {name for name, one in FIGURES.items() if one.draw(summary, judgement) is not None}


def test_every_figure_is_in_the_page_with_words_for_those_who_do_not_see_it(simulate: Any) -> None:
    told = {"arms": {name: {"about": name} for name in ("off", "on", "less", LONG)}, "ablation": ABLATION}
    found = page(case_of(simulate(told, effects={"less": 1.05})))
    assert set(found.figures) == set(FIGURES)
    for name in FIGURES:
        (line,) = (line for line in found.markdown.splitlines() if line.endswith(f"](case/{name}.svg)"))
        assert len(line) > 60
        assert any(sign.isdigit() for sign in line.removesuffix(f"](case/{name}.svg)"))
        assert found.figures[name].count("<svg ") == 1
        assert "<text" not in found.figures[name]
    assert set(found.files) == {"case.md", *(f"case/{name}.svg" for name in FIGURES)}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"pairs": 0}, set()),
        ({"pairs": 3}, {"order", "shift", "tail", "over_time"}),
        ({"limited": lambda _pair, _arm: True}, {"order"}),
        (
            {
                "told": {
                    "arms": {"off": FUNCTION, "on": FUNCTION},
                    "figures": {"value": {"margin": 0.1, "primary": True}},
                }
            },
            {"forest", "order"},
        ),
    ],
)
def test_where_there_is_nothing_to_show_there_is_no_figure(
    simulate: Any, changed: dict[str, Any], names: set[str]
) -> None:
    assert drawn(simulate(**changed)) == names


def test_arms_differ_without_colour(simulate: Any) -> None:
    known = looks(simulate({"arms": {name: {"about": name} for name in ("off", "on", *"abcde")}}).investigation)
    assert len({one.marker for one in known.values()}) == len(known)


@given(st.floats(1e-3, 1e6), st.floats(1.05, 1e6))
def test_a_logarithmic_axis_has_a_few_ticks_that_people_say(low: float, factor: float) -> None:
    found = log_ticks(low, low * factor)
    assert 1 <= len(found) <= 9
    assert all(low <= one <= low * factor for one in found)
    assert all(len(said(one, "ms")) <= 9 for one in found if one >= 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.3))
def test_labels_keep_apart_in_their_order_and_within_their_ends(places: list[float], gap: float) -> None:
    assume(len(set(places)) == len(places))
    found = apart(places, gap)
    room = min(gap, 1 / max(1, len(places) - 1))
    ordered = [moved for _, moved in sorted(zip(places, found, strict=True))]
    assert all(later - one > room - 1e-9 for one, later in pairwise(ordered))
    assert all(-1e-9 <= one <= 1 + 1e-9 for one in found)


@given(st.text("abc-", min_size=1))
def test_a_long_name_keeps_its_ends(name: str) -> None:
    assert len(short(name)) <= LONGEST
    assert name.startswith(short(name)[:8])
    assert name.endswith(short(name)[-8:])
