"""Plots: when they are drawn, and their style."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.report.page import markdown, page
from evenkeel_lab.report.plots import FIGURES
from evenkeel_lab.report.plots.scales import log_ticks, tick_label
from evenkeel_lab.report.plots.style import LONGEST, looks, short, svg
from evenkeel_lab.report.report_data import report_data_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_lab.runner.results.summary import Summary

FUNCTION = {"about": "x", "subject": "function", "function": "evenkeel_lab.bench.verdicts.simulation:median"}
ABLATION = {"full": "on", "switches": {"budgets": {"about": "no budgets", "arm": "less"}}}
LONG = "a-very-long-name-of-an-arm-that-goes-on-and-on"
# 10,000 times the difference between two processors.
LAST_BITS = 1e-12


def drawn(summary: Summary) -> set[str]:
    judgement = report_data_of(summary).judgement
    return {name for name, drawing in FIGURES.items() if drawing.draw(summary, judgement) is not None}


def everything(*arms: str) -> dict[str, Any]:
    """Return an investigation for which every plot is drawn."""
    loaded = {name: {"about": name, "load": {"users": at}} for at, name in enumerate(arms, 1)}
    return {"arms": loaded, "ablation": ABLATION, "queue": {"arms": list(arms[:3])}}


def with_lanes(summary: Summary) -> Summary:
    """Return a session whose first runs have lanes of two accounts, as those of drills have."""
    lanes = {
        "a": {"faulty": [0, 1, 1], "served": [3, 0, 5], "over_limit": [0, 0, 1], "failed": [0, 2, 0]},
        "b": {"faulty": [0, 0, 0], "served": [1, 2, 3], "over_limit": [0, 0, 0], "failed": [0, 0, 0]},
    }
    first = min(summary.done)
    return replace(summary, done={**summary.done, first: [replace(run, lanes=lanes) for run in summary.done[first]]})


def test_every_plot_is_in_the_page_with_an_alt_text(simulate: Any) -> None:
    summary = with_lanes(simulate(everything("off", "on", "less", LONG), effects={"less": 1.05}))
    rendered = page(report_data_of(summary))
    assert set(rendered.figures) == set(FIGURES)
    for name in FIGURES:
        (line,) = (line for line in rendered.markdown.splitlines() if line.endswith(f"](case/{name}.svg)"))
        assert len(line) > 60
        assert any(sign.isdigit() for sign in line.removesuffix(f"](case/{name}.svg)"))
        assert rendered.figures[name].count("<svg ") == 1
        # As text, a reader can search and copy it.
        assert "<text" in rendered.figures[name]
    assert set(rendered.files) == {"case.md", *(f"case/{name}.svg" for name in FIGURES)}


def moved(summary: Summary, by: Callable[[float], float]) -> Summary:
    """Return a session with every metric and latency changed by `by`."""

    def each(values: Mapping[str, float]) -> dict[str, float]:
        return {name: by(value) for name, value in values.items()}

    done = {name: [replace(run, figures=each(run.figures)) for run in runs] for name, runs in summary.done.items()}
    sketches = {
        name: {arm: replace(sketch, quantiles=each(sketch.quantiles)) for arm, sketch in by_arm.items()}
        for name, by_arm in summary.sketches.items()
    }
    return replace(summary, done=done, sketches=sketches)


def test_plots_and_alt_texts_do_not_depend_on_the_last_bits_of_values(simulate: Any) -> None:
    source = np.random.default_rng(3)

    def other(value: float) -> float:
        return value * float(1 + source.uniform(-LAST_BITS, LAST_BITS))

    summary = with_lanes(simulate(everything("off", "on", "less", LONG), effects={"less": 1.05}))
    other_machine = moved(summary, other)
    data, other_data = report_data_of(summary), report_data_of(other_machine)
    rendered = page(data)
    alts = {}
    for name, drawing in FIGURES.items():
        figure = drawing.draw(other_machine, other_data.judgement)
        assert figure is not None
        alts[name] = drawing.alt(other_machine, other_data.judgement)
        width, height = figure.get_size_inches()
        figure.set_size_inches(other(width), other(height))
        # `is True` keeps pytest from comparing long texts, which takes minutes.
        assert (svg(figure, name) == rendered.figures[name]) is True, name
    assert markdown(other_data, alts) == rendered.markdown


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"pairs": 0}, set()),
        ({"pairs": 3}, {"order", "shift", "tail", "over_time"}),
        ({"limited": lambda _pair, _arm: True}, {"order"}),
        (
            {
                "spec": {
                    "arms": {"off": FUNCTION, "on": FUNCTION},
                    "figures": {"value": {"margin": 0.1, "primary": True}},
                }
            },
            {"forest", "order"},
        ),
    ],
)
def test_a_plot_without_data_is_not_drawn(simulate: Any, changed: dict[str, Any], names: set[str]) -> None:
    assert drawn(simulate(**changed)) == names


def test_an_invalid_session_is_marked_in_every_plot_and_alt_text(simulate: Any) -> None:
    summary = with_lanes(simulate(everything("off", "on", "less"), effects={"less": 1.05, "again": 1.3}))
    judgement = report_data_of(summary).judgement
    assert judgement.invalid
    for drawing in FIGURES.values():
        assert drawing.draw(summary, judgement).get_suptitle().startswith("INVALID SESSION: DO NOT USE\n")
        assert drawing.alt(summary, judgement).startswith("Invalid session: do not use. ")


def test_the_tail_ends_at_the_last_known_quantile_of_an_arm(simulate: Any) -> None:
    summary = simulate()
    short = {
        name: {
            arm: replace(
                sketch, quantiles={share: value for share, value in sketch.quantiles.items() if float(share) < 0.9}
            )
            if arm == "on"
            else sketch
            for arm, sketch in by_arm.items()
        }
        for name, by_arm in summary.sketches.items()
    }
    drawn = FIGURES["tail"].draw(replace(summary, sketches=short), report_data_of(summary).judgement)
    assert drawn is not None
    (axes,), (legend,) = drawn.axes, drawn.legends
    assert not axes.texts
    assert [sketch.get_text() for sketch in legend.get_texts()] == ["off", "on", "off, again"]
    ends = {str(line.get_label()): max(np.asarray(line.get_xdata())) for line in axes.lines}
    assert ends["on"] < 10 < ends["off"]


@pytest.mark.parametrize("value", [1e300, 1e-300])
def test_an_impossible_latency_is_off_the_axis_and_breaks_no_plot(simulate: Any, value: float) -> None:
    summary = simulate()
    strange = {
        name: {arm: replace(sketch, quantiles=sketch.quantiles | {"0.5": value}) for arm, sketch in by_arm.items()}
        for name, by_arm in summary.sketches.items()
    }
    drawn = FIGURES["tail"].draw(replace(summary, sketches=strange), report_data_of(summary).judgement)
    assert drawn is not None
    assert svg(drawn, "tail").count("<svg ") == 1


def test_the_band_of_the_shift_function_has_dashed_edges(simulate: Any) -> None:
    summary = simulate()
    drawn = FIGURES["shift"].draw(summary, report_data_of(summary).judgement)
    assert drawn is not None
    for axes in drawn.axes:
        assert len([line for line in axes.lines if line.is_dashed()]) == 2
    assert "dashed: 95 % interval" in drawn.get_suptitle()


def test_arms_are_distinguishable_without_colour(simulate: Any) -> None:
    known = looks(simulate({"arms": {name: {"about": name} for name in ("off", "on", *"abcde")}}).investigation)
    assert len({look.marker for look in known.values()}) == len(known)


@given(st.floats(1e-3, 1e6), st.floats(1.05, 1e6))
def test_a_logarithmic_axis_has_a_few_round_ticks(low: float, factor: float) -> None:
    ticks = log_ticks(low, low * factor)
    assert 1 <= len(ticks) <= 9
    assert all(low <= tick <= low * factor for tick in ticks)
    assert all(len(tick_label(tick, "ms")) <= 9 for tick in ticks if tick >= 1)


@pytest.mark.parametrize(
    ("value", "unit", "label"),
    [
        (0.7, "", "0.7"),
        (30_000, "us", "30 ms"),
        (2_000_000, "us", "2 s"),
        (1500, "ms", "1.5 s"),
        (12_000, "rows", "12,000 rows"),
    ],
)
def test_a_tick_has_the_unit_that_makes_its_number_short(value: float, unit: str, label: str) -> None:
    assert tick_label(value, unit) == label


@given(st.text("abc-", min_size=1))
def test_a_long_name_is_shortened_in_its_middle(name: str) -> None:
    assert len(short(name)) <= LONGEST
    assert name.startswith(short(name)[:8])
    assert name.endswith(short(name)[-8:])
