"""Plot of drills: a lane for each account, with its attempts over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from evenkeel_lab.report.plots.style import COLOURS, FAINT, figure, headline, named, styled

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.measurement.run import Lanes
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

LANE, MARGIN = 0.16, 1.1
TITLE = 0.35
# The lower part of a lane has the requests that were served, the upper part those that were not.
SERVED, REFUSED = (0.08, 0.6), (0.64, 0.92)
FEW, MANY = 2, 4
BLUES = ("#a6cbe3", "#4a98c9", "#0f4c81")
KINDS = {"failed": COLOURS[1], "over_limit": COLOURS[4]}
LABELS = {"failed": "attempts that failed", "over_limit": "attempts beyond the limit"}
FAULTY = "the account has a fault"
SERVED_LABELS = ("1 request served in a second", f"{FEW} to {MANY - 1}", f"{MANY} or more")


@styled
def lanes(summary: Summary, judgement: Judgement) -> Figure | None:
    """Draw a panel for each arm, of the first pair."""
    by_arm = lanes_by_arm(summary)
    if not by_arm:
        return None
    accounts = len(next(iter(by_arm.values())))
    drawn = figure(len(by_arm) * (accounts * LANE + TITLE) + MARGIN)
    panels = drawn.subplots(len(by_arm), sharex=True, squeeze=False)[:, 0]
    for axes, (arm, of_arm) in zip(panels, by_arm.items(), strict=True):
        _panel(axes, of_arm)
        axes.set_title(named(arm, summary.investigation.baseline))
    panels[-1].set_xlabel("second")
    # Panels have the same marks, but none for what did not happen.
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    known = [label for label in (FAULTY, *SERVED_LABELS, *LABELS.values()) if label in handles]
    drawn.legend([handles[label] for label in known], known, loc="outside lower center", ncols=3)
    headline(drawn, "Requests at each account, second by second. Empty: none. One pair of the session", judgement)
    return drawn


def lanes_by_arm(summary: Summary) -> dict[str, Lanes]:
    """Return the lanes of the first pair, in the order of the arms."""
    recorded = {run.arm: run.lanes for runs in summary.done.values() for run in runs if run.lanes}
    return {arm: recorded[arm] for arm in summary.investigation.arms if arm in recorded}


def alt(summary: Summary, _: Judgement) -> str:
    """Return the alt text."""
    counts = [
        f"{arm} {_total(of_arm, 'failed')} and {_total(of_arm, 'over_limit')}"
        for arm, of_arm in lanes_by_arm(summary).items()
    ]
    return f"Attempts at each account over time; attempts that failed, and attempts beyond a limit: {', '.join(counts)}"


def _total(of_arm: Lanes, kind: str) -> int:
    return sum(sum(account.get(kind, ())) for account in of_arm.values())


def _panel(axes: Axes, of_arm: Lanes) -> None:
    names = list(of_arm)
    served = _grid(of_arm, "served")
    _fill(axes, _grid(of_arm, "faulty") > 0, (0.0, 1.0), FAINT, FAULTY)
    bounds = ((1, FEW), (FEW, MANY), (MANY, np.inf))
    for (least, below), colour, label in zip(bounds, BLUES, SERVED_LABELS, strict=True):
        _fill(axes, (served >= least) & (served < below), SERVED, colour, label)
    for kind, colour in KINDS.items():
        _fill(axes, _grid(of_arm, kind) > 0, REFUSED, colour, LABELS[kind])
    axes.set(xlim=(0, served.shape[1]), ylim=(len(names), 0))
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)


def _grid(of_arm: Lanes, kind: str) -> npt.NDArray[np.int64]:
    longest = max(len(counts) for account in of_arm.values() for counts in account.values())
    return np.array([[*account.get(kind, [0] * longest)] for account in of_arm.values()])


def _fill(axes: Axes, selected: npt.NDArray[np.bool_], within: tuple[float, float], colour: str, label: str) -> None:
    """Fill the selected cells as one shape; `within` is the part of a lane from its bottom to its top."""
    corners: list[tuple[float, float]] = []
    for lane, row in enumerate(selected):
        low, high = lane + 1 - within[0], lane + 1 - within[1]
        # Cells beside each other are one rectangle.
        edges = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(int), [0]))))
        for first, end in edges.reshape(-1, 2):
            corners += [(first, low), (end, low), (end, high), (first, high), (first, low)]
    if corners:
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(corners) // 5)
        axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, linewidth=0, label=label))
