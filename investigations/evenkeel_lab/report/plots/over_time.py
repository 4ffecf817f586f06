"""Heatmap of latency over the time of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from evenkeel_lab.investigation_spec.investigation import DIRECT
from evenkeel_lab.report.plot_data import counted_over_time, halves, middle
from evenkeel_lab.report.plots.colour_schemes import SEQUENCE
from evenkeel_lab.report.plots.scales import log_axis, log_ticks, tick_label
from evenkeel_lab.report.plots.style import figure, headline, named, styled
from evenkeel_lab.runner.measurement.latency_summary import EDGES_MS, TIMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.report.plot_data import Counts
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

MOST_COLUMNS = 3
HEIGHT, REST = 1.7, 0.9


@styled
def over_time(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw one panel per arm. A cell's colour is the number of requests in it."""
    counts = dict(sorted(counted_over_time(summary).items(), key=lambda entry: entry[0] == DIRECT))
    if not counts:
        return None
    baseline = summary.investigation.baseline
    columns = min(MOST_COLUMNS, len(counts))
    rows = math.ceil(len(counts) / columns)
    drawn = figure(rows * HEIGHT + REST)
    panels = list(drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    levels = _levels(counts)
    steps = np.linspace(0, len(SEQUENCE) - 1, len(levels) + 1).round().astype(int)
    colours = ListedColormap([SEQUENCE[step] for step in steps])
    used = np.flatnonzero(sum(of_arm.sum(axis=0) for of_arm in counts.values()))
    for axes, (arm, of_arm) in zip(panels, counts.items(), strict=False):
        for level in range(len(levels) + 1):
            _cells(axes, (of_arm > 0) & (np.digitize(of_arm, levels) == level), colours(level))
        axes.set(xlim=(0, TIMES), title=named(arm, baseline))
        log_axis(axes.yaxis, EDGES_MS[used[0]], EDGES_MS[used[-1] + 1], "ms")
        axes.grid(visible=False)
    for axes in panels[len(counts) :]:
        axes.set_visible(False)
    for axes in panels[len(counts) - columns : len(counts)]:
        axes.tick_params(labelbottom=True)
    panels[0].set_xticks(np.linspace(0, TIMES, 5), ["0", "25", "50", "75", "100 %"])
    norm = BoundaryNorm(levels, len(levels) + 1, extend="both")
    shown = panels[: len(counts)]
    bar = drawn.colorbar(ScalarMappable(norm, colours), ax=shown, extend="both", aspect=25, pad=0.02)
    bar.set_ticks(levels, labels=[tick_label(level, "") for level in levels])
    bar.minorticks_off()
    bar.set_label("requests in a cell, mean of all runs", fontsize=8)
    drawn.supylabel("latency", fontsize=9)
    headline(drawn, "Number of requests, by latency and by the time since the beginning of a run", judgement)
    return drawn


def alt(summary: Summary, _: Judgement) -> str:
    """Return the alt text."""
    counts = counted_over_time(summary)
    moved = []
    for arm, of_arm in counts.items():
        first, second = map(_middle, halves(of_arm))
        if first != second:
            moved.append(f"{arm} from {first} to {second}")
    arm, of_arm = next(iter(counts.items()))
    medians = f"the median of {arm} lies at {_middle(of_arm)}; from the first half of a run to the second"
    medians += f" the median moves in {'; '.join(moved)}" if moved else " every median stays in its row"
    return f"Heatmaps of latency over the time of a run, of {', '.join(counts)}: {medians}"


def _middle(counts: Counts) -> str:
    """Return the bounds of the bin with the median, as text."""
    at = middle(counts)
    if at is None:
        return "nothing"
    return f"{tick_label(float(f'{EDGES_MS[at]:.2g}'), 'ms')} to {tick_label(float(f'{EDGES_MS[at + 1]:.2g}'), 'ms')}"


def _levels(counts: Mapping[str, Counts]) -> list[float]:
    """Return the numbers of requests at which the colour changes."""
    values = np.concatenate([of_arm[of_arm > 0] for of_arm in counts.values()])
    least, most = float(values.min()), float(values.max())
    return log_ticks(least, max(most, 10 * least))


def _cells(axes: Axes, selected: npt.NDArray[np.bool_], colour: tuple[float, float, float, float]) -> None:
    """Fill the `selected` cells as one shape. Thousands of shapes would make a file of megabytes."""
    corners: list[tuple[float, float]] = []
    for row in range(selected.shape[1]):
        low, high = EDGES_MS[row], EDGES_MS[row + 1]
        # The first cell of each run of cells, and the one after its last.
        steps = np.flatnonzero(np.diff(np.concatenate([[False], selected[:, row], [False]]).astype(int)))
        for left, right in zip(steps[::2], steps[1::2], strict=True):
            corners += [(left, low), (right, low), (right, high), (left, high), (left, low)]
    if corners:
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(corners) // 5)
        axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, edgecolor=colour, linewidth=0.3))
