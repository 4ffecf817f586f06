"""Sections on the distribution of latencies: over requests, the time of a run, and the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData

TITLES = {
    "lanes": "The accounts over time",
    "shift": "The difference at each quantile",
    "tail": "The tail",
    "over_time": "Latency during a run",
    "order": "The runs in order",
}
ABOUT = {
    "lanes": "A lane for each account, from the provider's journal. Below the line: requests that it served in each "
    "second. Above: failed attempts. Grey: the account has a fault. An account without attempts is in a cooldown; "
    "single attempts after that are probes.",
    "shift": "At zero, an arm is as fast as the baseline. The fastest requests are at the left, the slowest at the "
    "right. Quantiles with too few requests beyond them are left out.",
    "tail": "The latency within which a share of the requests was answered. Further right are rarer, slower requests.",
    "over_time": "The colour is the number of requests in a field. If the level climbs or has gaps, the proxy was "
    "not in a steady state.",
    "order": "Drift and jumps of all arms alike come from the machine. Pairs cancel them out.",
}


def shapes(_: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the existing plots, each with an explanation."""
    return "\n\n".join(
        "\n\n".join([f"## {title}", paragraph(ABOUT[name]), pictures[name]])
        for name, title in TITLES.items()
        if name in pictures
    )
