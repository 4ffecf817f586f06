"""Section on what requests waited for, from the traces of each arm."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import code, paragraph, table
from evenkeel_lab.runner.results.store import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.tracing.traces import Trace, Traces

FIGURE = "waits"
METHOD = (
    "The first {most} requests of an extra run of each arm, which no metric contains. A probe in the proxy records "
    "when functions of LiteLLM and of the clients of Redis, database and provider are called and return. Time counts "
    "for the innermost function. It includes waiting for the event loop."
)
ANOTHER = "The traces were recorded with another version of this investigation than its pairs."
SLOWEST = 10


def traces(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the table and the plot of the traces, or nothing if there are none."""
    if data.traces is None or not data.traces.arms:
        return ""
    recorded = data.traces
    most = max(map(len, recorded.arms.values()))
    rows = [row for arm, of_arm in recorded.arms.items() for row in _rows(arm, of_arm, recorded)]
    head = ("arm", "requests", "seconds", *recorded.parts)
    parts = [
        "## What requests waited for",
        *([paragraph(ANOTHER)] if recorded.digest != digest(data.investigation) else []),
        paragraph(METHOD.format(most=most)),
        table(head, rows, set(head[2:])),
        pictures[FIGURE],
    ]
    return "\n\n".join(parts)


def _rows(arm: str, requests: Sequence[Trace], all_traces: Traces) -> list[list[str]]:
    """Return the mean times of all requests of an arm, and those of the slowest."""
    ordered = sorted(requests, key=lambda trace: trace.duration)
    groups = {"all": ordered, f"the slowest {min(SLOWEST, len(ordered))}": ordered[-SLOWEST:]}
    return [
        [
            code(arm),
            name,
            _seconds(fmean(trace.duration for trace in of_group)),
            *(_seconds(fmean(trace.waits[at] for trace in of_group)) for at in range(len(all_traces.parts))),
        ]
        for name, of_group in groups.items()
    ]


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2f}"
