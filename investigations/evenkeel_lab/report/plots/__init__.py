"""The figures of a report: each a function of a session and of what may be said of it, which draws it or returns None.

Notebooks call the same functions, and show what they return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.report.plots.forest import alt as forest_alt, forest
from evenkeel_lab.report.plots.order import alt as order_alt, order
from evenkeel_lab.report.plots.over_time import alt as over_time_alt, over_time
from evenkeel_lab.report.plots.queue import alt as queue_alt, queue
from evenkeel_lab.report.plots.shift import alt as shift_alt, shift
from evenkeel_lab.report.plots.style import INVALID, svg
from evenkeel_lab.report.plots.tail import alt as tail_alt, tail
from evenkeel_lab.report.plots.waterfall import alt as waterfall_alt, waterfall
from evenkeel_lab.runner.results.ablation import attribute
from evenkeel_lab.runner.results.queue_model import queueing

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.ablation import Attribution
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

__all__ = ["FIGURES", "Drawing", "forest", "order", "over_time", "queue", "shift", "svg", "tail", "waterfall"]


@dataclass(frozen=True)
class Drawing:
    """A figure: how it is drawn, and what it shows in words, for those who do not see it."""

    draw: Callable[[Summary, Judgement], Figure | None]
    says: Callable[[Summary, Judgement], str]

    def alt(self, summary: Summary, judgement: Judgement) -> str:
        """Say in words what it shows, and whether that may be believed."""
        invalid = f"{INVALID}. " if judgement.invalid else ""
        return f"{invalid}{self.says(summary, judgement)}"


def _attributed(summary: Summary) -> Attribution | None:
    asked = summary.investigation
    return attribute(asked, summary.done, asked.session.looks[-1], asked.primary)


FIGURES = {
    "forest": Drawing(forest, forest_alt),
    "waterfall": Drawing(
        lambda summary, judgement: waterfall(_attributed(summary), judgement),
        lambda summary, _: waterfall_alt(_attributed(summary)),
    ),
    "queue": Drawing(
        lambda summary, judgement: queue(queueing(summary.investigation, summary.done), judgement),
        lambda summary, _: queue_alt(queueing(summary.investigation, summary.done)),
    ),
    "shift": Drawing(shift, shift_alt),
    "tail": Drawing(tail, tail_alt),
    "over_time": Drawing(over_time, over_time_alt),
    "order": Drawing(order, order_alt),
}
"""All there are, by the name of their file."""
