"""Rows of effects in the charts of notebooks."""

from __future__ import annotations

from matplotlib.figure import Figure

from evenkeel_lab.notebook import draw_effect, label_rows


def test_a_row_has_the_effect_its_interval_and_the_margin_in_percent() -> None:
    axes = Figure().subplots()
    draw_effect(axes, 1, {"effect": 0.02, "low": 0.01, "high": 0.03, "margin": 0.05})
    (margin,), (interval,), (effect,) = axes.patches, axes.collections, axes.lines
    assert (margin.get_x(), margin.get_width()) == (-5, 10)
    assert interval.get_segments()[0].tolist() == [[1, 1], [3, 1]]
    assert (effect.get_xdata()[0], effect.get_ydata()[0]) == (2, 1)


def test_the_first_row_is_at_the_top() -> None:
    axes = Figure().subplots()
    label_rows(axes, ["first", "second"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    assert axes.yaxis_inverted()
