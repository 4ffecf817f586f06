"""Plots of a report. Each is a function of a summary and its judgement that returns a figure, or `None`.

Notebooks call the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.report.plots.forest import alt as forest_alt, forest
from evenkeel_lab.report.plots.lanes import alt as lanes_alt, lanes
from evenkeel_lab.report.plots.order import alt as order_alt, order
from evenkeel_lab.report.plots.over_time import alt as over_time_alt, over_time
from evenkeel_lab.report.plots.parts import alt as parts_alt, parts
from evenkeel_lab.report.plots.queue import alt as queue_alt, queue
from evenkeel_lab.report.plots.shift import alt as shift_alt, shift
from evenkeel_lab.report.plots.style import INVALID, svg
from evenkeel_lab.report.plots.tail import alt as tail_alt, tail
from evenkeel_lab.runner.results.ablation import attribute
from evenkeel_lab.runner.results.queue_model import queueing

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.ablation import Attribution
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

__all__ = ["FIGURES", "Drawing", "forest", "lanes", "order", "over_time", "parts", "queue", "shift", "svg", "tail"]


@dataclass(frozen=True)
class Drawing:
    """A plot: a function that draws it, and one that describes it for readers who cannot see it."""

    draw: Callable[[Summary, Judgement], Figure | None]
    describe: Callable[[Summary, Judgement], str]

    def alt(self, summary: Summary, judgement: Judgement) -> str:
        """Return the alt text, with a warning if the session is invalid."""
        invalid = f"{INVALID}. " if judgement.invalid else ""
        return f"{invalid}{self.describe(summary, judgement)}"


def _attribution(summary: Summary) -> Attribution | None:
    investigation = summary.investigation
    return attribute(investigation, summary.done, investigation.session.looks[-1], investigation.primary)


FIGURES = {
    "forest": Drawing(forest, forest_alt),
    "parts": Drawing(
        lambda summary, judgement: parts(_attribution(summary), judgement),
        lambda summary, _: parts_alt(_attribution(summary)),
    ),
    "queue": Drawing(
        lambda summary, judgement: queue(queueing(summary.investigation, summary.done), judgement),
        lambda summary, _: queue_alt(queueing(summary.investigation, summary.done)),
    ),
    "shift": Drawing(shift, shift_alt),
    "tail": Drawing(tail, tail_alt),
    "over_time": Drawing(over_time, over_time_alt),
    "order": Drawing(order, order_alt),
    "lanes": Drawing(lanes, lanes_alt),
}
"""All plots, by the name of their file."""
