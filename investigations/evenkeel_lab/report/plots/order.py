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
# Runs of the same pair are drawn beside each other, within this part of the distance between pairs.
SPREAD = 0.4


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
    axes.set(xlabel="pair, in the order of time", xlim=(0.5, round(max(at for at, _, _ in runs)) + 0.5))
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
    pairs = len({round(at) for at, _, _ in runs})
    count = f"{invalid} of the runs do not count" if invalid else "all of them count"
    title = summary.investigation.described[summary.investigation.primary].title
    return f"In the order of {len(runs)} runs in {pairs} pairs: {title}; {count}"


def _beside(at: int, number: int, runs: int) -> float:
    """Return where a run is drawn: its pair, and a little to the left or to the right."""
    return at + SPREAD * ((number + 0.5) / runs - 0.5)


def _runs(summary: Summary) -> list[tuple[float, Run, bool]]:
    """Return all runs with the primary metric, each with its position in time, and whether it counts.

    In a pair, no run counts without the other. In a block, a run without the baseline's counts for nothing.
    """
    name, baseline = summary.investigation.primary, summary.investigation.baseline
    with_metric = {
        scheduled: [run for run in runs if name in run.figures and run.arm != DIRECT]
        for scheduled, runs in summary.done.items()
    }
    pairs = sorted((min(run.start_ns for run in runs), scheduled) for scheduled, runs in with_metric.items() if runs)
    placed: list[tuple[float, Run, bool]] = []
    for at, (_, scheduled) in enumerate(pairs, 1):
        runs = summary.done[scheduled]
        shown = sorted(with_metric[scheduled], key=lambda run: run.start_ns)
        for number, run in enumerate(shown):
            decisive = [each for each in runs if len(runs) == PAIR or each is run or each.arm == baseline]
            placed.append((_beside(at, number, len(shown)), run, not any(each.limited for each in decisive)))
    return placed
