"""Plot of all runs in order of time, which shows drifts and jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT
from evenkeel_lab.report.plots.scales import around, log_axis
from evenkeel_lab.report.plots.style import PAPER, figure, headline, looks, named, styled
from evenkeel_lab.runner.schedule import PAIR
from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

HEIGHT = 3.2


@styled
def order(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw the primary metric of every run, hollow if it does not count. The mock alone is left out."""
    investigation = summary.investigation
    name = investigation.primary
    runs = _runs(summary)
    if not runs:
        return None
    drawn = figure(HEIGHT)
    axes = drawn.subplots()
    arm_looks = looks(investigation)
    for arm in [*investigation.arms, AGAIN]:
        own = [(at, run.figures[name], counts) for at, run, counts in runs if run.arm == arm]
        if not own:
            continue
        look, label = arm_looks[arm], named(arm, investigation.baseline)
        for counts in (True, False):
            points = [(at, value) for at, value, counted in own if counted is counts]
            axes.plot(
                [at for at, _ in points],
                [value for _, value in points],
                color=look.colour,
                marker=look.marker,
                markersize=5,
                markerfacecolor=look.colour if counts else PAPER,
                linestyle="none",
                label=label if counts else "_",
            )
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.set(xlabel="pair")
    known_figure, values = investigation.described[name], [run.figures[name] for _, run, _ in runs]
    if known_figure.usual.scale is Scale.POINTS:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    elif min(values) > 0:
        log_axis(axes.yaxis, *around(values), known_figure.unit)
    drawn.legend(loc="outside right upper")
    hollow = "; hollow: does not count" if not all(counts for _, _, counts in runs) else ""
    headline(drawn, f"In the order of the runs: {known_figure.title}{hollow}", judgement)
    return drawn


def alt(summary: Summary, _: Judgement) -> str:
    """Return the alt text."""
    runs = _runs(summary)
    invalid = sum(not counts for _, _, counts in runs)
    pairs = len({at for at, _, _ in runs})
    count = f"{invalid} of the runs do not count" if invalid else "all of them count"
    title = summary.investigation.described[summary.investigation.primary].title
    return f"In the order of {len(runs)} runs in {pairs} pairs: {title}; {count}"


def _runs(summary: Summary) -> list[tuple[int, Run, bool]]:
    """Return all runs with the primary metric, each with the number of its pair in time, and whether it counts.

    In a pair, no run counts without the other. In a block, a run without the baseline's counts for nothing.
    """
    name, baseline = summary.investigation.primary, summary.investigation.baseline
    pairs = sorted(summary.done.items(), key=lambda entry: (min(run.start_ns for run in entry[1]), entry[0]))
    return [
        (at, run, not any(each.limited for each in runs if len(runs) == PAIR or each is run or each.arm == baseline))
        for at, (_, runs) in enumerate(pairs, 1)
        for run in sorted(runs, key=lambda run: run.start_ns)
        if name in run.figures and run.arm != DIRECT
    ]
