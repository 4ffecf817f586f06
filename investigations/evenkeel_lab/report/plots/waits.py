"""Plot of traces: what each of the first requests waited for, a step each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.report.plots.style import COLOURS, QUIET, figure, headline, named, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenkeel_lab.tracing.traces import Traces

PANEL, MARGIN = 1.6, 0.8
MS = 1000


@styled
def waits(traces: Traces, baseline: str) -> Figure:
    """Draw a panel for each arm: requests in the order of their arrival, with their time by part."""
    drawn = figure(PANEL * len(traces.arms) + MARGIN)
    panels = drawn.subplots(len(traces.arms), sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (arm, requests) in zip(panels, traces.arms.items(), strict=True):
        # A polygon for each part: a bar for each request and part would be a thousand shapes.
        edges = np.arange(len(requests) + 1) + 0.5
        below = np.zeros(len(edges))
        for at, (part, colour) in enumerate(zip(traces.parts, (*COLOURS[: len(traces.parts) - 1], QUIET), strict=True)):
            seconds = np.array([trace.waits[at] / MS for trace in (*requests, requests[-1])])
            axes.fill_between(edges, below, below + seconds, step="post", color=colour, label=part, linewidth=0)
            below += seconds
        axes.set_xlim(edges[0], edges[-1])
        axes.set_title(named(arm, baseline))
        axes.set_ylabel("seconds")
    # After all panels are drawn: a limit ends the scaling of the axis that they share.
    panels[0].set_ylim(0)
    panels[-1].set_xlabel("request, in the order of arrival")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    headline(drawn, "What the first requests waited for")
    return drawn


def alt(traces: Traces) -> str:
    """Return the alt text."""
    longest = {arm: max(trace.duration for trace in requests) / MS for arm, requests in traces.arms.items()}
    each = ", ".join(f"{arm} {seconds:.1f} s" for arm, seconds in longest.items())
    return f"Requests in the order of their arrival, by what they waited for; the longest: {each}"
