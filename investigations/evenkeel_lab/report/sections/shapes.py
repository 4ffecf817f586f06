"""Sections on the distribution of latencies: over requests, the time of a run, and the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData

TITLES = {
    "lanes": "The accounts over time",
    "shift": "The shift function",
    "tail": "The tail",
    "over_time": "Latency over the time of a run",
    "order": "The runs in their order",
}
ABOUT = {
    "lanes": "A lane for each account, as the provider's own journal has it: below what it served in each second, "
    "above the attempts that were in vain. Grey are the seconds in which the account has a fault. An account without "
    "attempts is left alone by the router; single attempts after that are probes.",
    "shift": "Where an arm differs: at zero it is as fast as the baseline, at the left for the quickest requests, at "
    "the right for the slowest. Quantiles with too few requests beyond them in some run are left out.",
    "tail": "The latency within which so large a share of requests was answered; each step to the right is a rarer "
    "request. Of an arm that met several others, all runs are taken together, and medians of them are drawn.",
    "over_time": "The darker a field, the more requests of a run fall into it. A level that climbs, or a hole, is no "
    "steady state, and a mean over it means little.",
    "order": "What drifts or jumps for all arms alike is the machine; pairs cancel it out.",
}


def shapes(_: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the existing plots, each with an explanation."""
    return "\n\n".join(
        "\n\n".join([f"## {title}", paragraph(ABOUT[name]), pictures[name]])
        for name, title in TITLES.items()
        if name in pictures
    )
