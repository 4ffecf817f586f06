"""Style of all plots, independent of the configuration of the machine.

An arm has the same colour, marker and line in all plots of a session. They never depend on the result, and marker and
line distinguish arms without colour.
"""

from __future__ import annotations

import contextlib
import functools
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT
from evenkeel_lab.report.plots.canonical import canonical
from evenkeel_lab.report.plots.colour_schemes import adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from matplotlib.axes import Axes

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.results.analysis import Judgement

    Dashes = str | tuple[int, tuple[int, ...]]

    P = ParamSpec("P")
    R = TypeVar("R")

INVALID = "Invalid session: do not use"
WIDTH = 9.0
LONGEST = 30
INK, QUIET, FAINT, PAPER = "#1a1a1a", "#6b6b6b", "#dcdcdc", "#ffffff"
# Okabe and Ito's palette for colour-blind readers, without yellow, which is hard to see on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("s", "^", "D", "v", "P", "X", "<")
LINES: tuple[Dashes, ...] = ("--", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (8, 2)))
UNTITLED = {"Creator": None, "Date": None, "Format": None, "Type": None}
# Settings of the window belong to the program that shows a plot.
UNTOUCHED = {"backend", "backend_fallback", "interactive", "toolbar"}
OURS: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "savefig.facecolor": PAPER,
    # Simplification depends on the last bits of coordinates.
    "path.simplify": False,
    # Text as text: it can be searched and read aloud. The layout is that of a wide font, so that any other fits too.
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": QUIET,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of an arm."""

    colour: str
    marker: str
    line: Dashes


def looks(investigation: Investigation) -> dict[str, Look]:
    """Return the look of each arm: the baseline in black, its twin and the mock in grey."""
    candidates = [name for name in investigation.arms if name != investigation.baseline]
    candidate_looks = {
        name: Look(COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)], LINES[at % len(LINES)])
        for at, name in enumerate(candidates)
    }
    own = {investigation.baseline: Look(INK, "o", "-"), AGAIN: Look(QUIET, "*", ":"), DIRECT: Look(QUIET, ".", ":")}
    return own | candidate_looks


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Use the style of this project instead of the machine's settings."""
    plain: dict[Any, Any] = dict(mpl.rcParamsDefault.copy())
    with mpl.rc_context({name: value for name, value in (plain | dict(OURS)).items() if name not in UNTOUCHED}):
        yield


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that draws, so that it uses this style."""

    @functools.wraps(draw)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        with style():
            return draw(*args, **kwargs)

    return within


def figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure without a window."""
    empty = Figure(figsize=(width, height))
    FigureCanvasSVG(empty)
    return empty


def headline(drawn: Figure, title: str, judgement: Judgement | None = None) -> None:
    """Set the title of a plot, with a warning if the session is invalid."""
    invalid = f"{INVALID.upper()}\n" if judgement and judgement.invalid else ""
    drawn.suptitle(f"{invalid}{title}", x=0.01, ha="left", fontsize=10, fontweight="bold" if invalid else "normal")


def short(name: str, longest: int = LONGEST) -> str:
    """Shorten a name to `longest` characters in its middle, because names differ at their ends."""
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[-tail:]}"


def named(arm: str, baseline: str) -> str:
    """Return the label of an arm in plots."""
    return {AGAIN: f"{short(baseline, LONGEST - 7)}, again", DIRECT: "the mock alone"}.get(arm, short(arm))


def quieten(axes: Axes) -> None:
    """Remove tick marks and spines."""
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def svg(drawn: Figure, name: str) -> str:
    """Return a figure as SVG text that is equal on every machine."""
    into = io.StringIO()
    with style(), mpl.rc_context({"svg.hashsalt": name}):
        drawn.savefig(into, format="svg", metadata=UNTITLED)
    return canonical(adaptive(into.getvalue()))
