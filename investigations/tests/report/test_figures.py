"""Figures: drawn where there is something to show, and what they are drawn with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.report.page import page
from evenkeel_lab.report.plots import FIGURES
from evenkeel_lab.report.plots.scales import log_ticks, said
from evenkeel_lab.report.plots.style import LONGEST, looks, short, svg
from evenkeel_lab.report.report_data import case_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.runner.results.summary import Summary

FUNCTION = {"about": "x", "subject": "function", "function": "evenkeel_lab.bench.verdicts.simulation:median"}
ABLATION = {"full": "on", "switches": {"budgets": {"about": "no budgets", "arm": "less"}}}
LONG = "a-very-long-name-of-an-arm-that-goes-on-and-on"
# Ten thousand times as much as two processors differ in.
LAST_BITS = 1e-12


def drawn(summary: Summary) -> set[str]:
    judgement = case_of(summary).judgement
    return {name for name, one in FIGURES.items() if one.draw(summary, judgement) is not None}


def everything(*arms: str) -> dict[str, Any]:
    """Ask for all that has a figure."""
    loaded = {name: {"about": name, "load": {"users": at}} for at, name in enumerate(arms, 1)}
    return {"arms": loaded, "ablation": ABLATION, "queue": {"arms": list(arms[:3])}}


def test_every_figure_is_in_the_page_with_words_for_those_who_do_not_see_it(simulate: Any) -> None:
    found = page(case_of(simulate(everything("off", "on", "less", LONG), effects={"less": 1.05})))
    assert set(found.figures) == set(FIGURES)
    for name in FIGURES:
        (line,) = (line for line in found.markdown.splitlines() if line.endswith(f"](case/{name}.svg)"))
        assert len(line) > 60
        assert any(sign.isdigit() for sign in line.removesuffix(f"](case/{name}.svg)"))
        assert found.figures[name].count("<svg ") == 1
        assert "<text" not in found.figures[name]
    assert set(found.files) == {"case.md", *(f"case/{name}.svg" for name in FIGURES)}


def moved(summary: Summary, by: Callable[[float], float]) -> Summary:
    """Return a session whose figures and latencies are others."""

    def each(values: Mapping[str, float]) -> dict[str, float]:
        return {name: by(value) for name, value in values.items()}

    done = {name: [replace(run, figures=each(run.figures)) for run in runs] for name, runs in summary.done.items()}
    sketches = {
        name: {arm: replace(one, quantiles=each(one.quantiles)) for arm, one in told.items()}
        for name, told in summary.sketches.items()
    }
    return replace(summary, done=done, sketches=sketches)


def test_figures_and_their_words_are_the_same_whatever_the_last_bits_are(simulate: Any) -> None:
    source = np.random.default_rng(3)

    def other(value: float) -> float:
        return value * float(1 + source.uniform(-LAST_BITS, LAST_BITS))

    summary = simulate(everything("off", "on", "less", LONG), effects={"less": 1.05})
    elsewhere = moved(summary, other)
    here, there = case_of(summary), case_of(elsewhere)
    assert page(there).markdown == page(here).markdown
    for name, one in FIGURES.items():
        first, second = one.draw(summary, here.judgement), one.draw(elsewhere, there.judgement)
        assert first is not None
        assert second is not None
        width, height = second.get_size_inches()
        second.set_size_inches(other(width), other(height))
        # Of long texts, pytest takes minutes to tell the difference.
        assert (svg(first, name) == svg(second, name)) is True, name


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


def test_an_invalid_session_is_marked_in_every_figure_and_in_its_words(simulate: Any) -> None:
    summary = simulate(everything("off", "on", "less"), effects={"less": 1.05, "again": 1.3})
    judgement = case_of(summary).judgement
    assert judgement.invalid
    for one in FIGURES.values():
        assert one.draw(summary, judgement).get_suptitle().startswith("INVALID SESSION, NOT TO BE BELIEVED\n")
        assert one.alt(summary, judgement).startswith("Invalid session, not to be believed. ")


def test_nothing_in_the_tail_goes_on_where_an_arm_was_not_measured(simulate: Any) -> None:
    summary = simulate()
    short = {
        name: {
            arm: replace(one, quantiles={share: value for share, value in one.quantiles.items() if float(share) < 0.9})
            if arm == "on"
            else one
            for arm, one in told.items()
        }
        for name, told in summary.sketches.items()
    }
    drawn = FIGURES["tail"].draw(replace(summary, sketches=short), case_of(summary).judgement)
    assert drawn is not None
    (axes,), (legend,) = drawn.axes, drawn.legends
    assert not axes.texts
    assert [one.get_text() for one in legend.get_texts()] == ["off", "on", "off, again", "the mock alone"]
    ends = {str(line.get_label()): max(np.asarray(line.get_xdata())) for line in axes.lines}
    assert ends["on"] < 10 < ends["off"]


@pytest.mark.parametrize("value", [1e300, 1e-300])
def test_what_is_no_latency_is_off_the_axis_and_breaks_no_figure(simulate: Any, value: float) -> None:
    summary = simulate()
    strange = {
        name: {arm: replace(one, quantiles=one.quantiles | {"0.5": value}) for arm, one in told.items()}
        for name, told in summary.sketches.items()
    }
    drawn = FIGURES["tail"].draw(replace(summary, sketches=strange), case_of(summary).judgement)
    assert drawn is not None
    assert svg(drawn, "tail").count("<svg ") == 1


def test_the_band_of_the_shift_function_has_edges(simulate: Any) -> None:
    summary = simulate()
    drawn = FIGURES["shift"].draw(summary, case_of(summary).judgement)
    assert drawn is not None
    for axes in drawn.axes:
        assert len([line for line in axes.lines if line.is_dashed()]) == 2
    assert "dashed: 95 % interval" in drawn.get_suptitle()


def test_arms_differ_without_colour(simulate: Any) -> None:
    known = looks(simulate({"arms": {name: {"about": name} for name in ("off", "on", *"abcde")}}).investigation)
    assert len({one.marker for one in known.values()}) == len(known)


@given(st.floats(1e-3, 1e6), st.floats(1.05, 1e6))
def test_a_logarithmic_axis_has_a_few_ticks_that_people_say(low: float, factor: float) -> None:
    found = log_ticks(low, low * factor)
    assert 1 <= len(found) <= 9
    assert all(low <= one <= low * factor for one in found)
    assert all(len(said(one, "ms")) <= 9 for one in found if one >= 1)


@given(st.text("abc-", min_size=1))
def test_a_long_name_keeps_its_ends(name: str) -> None:
    assert len(short(name)) <= LONGEST
    assert name.startswith(short(name)[:8])
    assert name.endswith(short(name)[-8:])
