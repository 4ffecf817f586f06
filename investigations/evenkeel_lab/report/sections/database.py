"""Section on database operations per request."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import code, paragraph, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Comparison

# Operations that are rarer than 1 in 50 requests are not caused by requests.
MIN_PER_REQUEST = 0.02
# A lookup per request, or per 2 requests. Background writes differ by less.
MIN_DIFFERENCE = 0.5


def database(data: ReportData, _: Mapping[str, str]) -> str:
    """Return a table with one row per operation of LiteLLM's database client, the largest differences first."""
    per_request = _operations_per_request(data)
    arms = list(per_request)
    names = set().union(*per_request.values())
    each = {name: [per_request[arm].get(name, 0.0) for arm in arms] for name in names}
    rows = [
        [text(name), *(f"{count:.2f}" for count in each[name])]
        for name in sorted(each, key=lambda name: (min(each[name]) - max(each[name]), -max(each[name]), name))
        if max(each[name]) >= MIN_PER_REQUEST
    ]
    if not rows:
        return ""
    method = (
        "Calls of LiteLLM's database client for each request, the largest differences first. Background writes for "
        "several requests at once are included. An operation may take several transactions in Postgres "
        "(`database_calls`), and several writes may share one."
    )
    return "\n\n".join(["## Database operations", paragraph(method), table(("operation", *arms), rows, set(arms))])


def largest_difference(data: ReportData, comparison: Comparison) -> str:
    """Return a sentence on the operation that differs most, or nothing if no operation differs per request."""
    per_request = _operations_per_request(data)
    first, second = (per_request.get(arm, {}) for arm in (comparison.baseline, comparison.candidate))
    differs = {name: second.get(name, 0.0) - first.get(name, 0.0) for name in first.keys() | second.keys()}
    name = max(differs, key=lambda name: (abs(differs[name]), name), default="")
    if not name or abs(differs[name]) < MIN_DIFFERENCE:
        return ""
    counts = f"{second.get(name, 0.0):.2f} instead of {first.get(name, 0.0):.2f} for a request"
    return f" The database operation that differs most is {code(name)}: {counts}."


def _operations_per_request(data: ReportData) -> dict[str, dict[str, float]]:
    """Return the operations per request, by arm and name."""
    requests: Counter[str] = Counter()
    operations: dict[str, Counter[str]] = {arm: Counter() for arm in data.investigation.arms}
    for runs in data.summary.done.values():
        for run in runs:
            if run.arm in operations and run.operations and not any(other.limited for other in runs):
                requests[run.arm] += run.requests
                operations[run.arm].update(run.operations)
    return {
        arm: {name: count / requests[arm] for name, count in operations[arm].items()}
        for arm in operations
        if requests[arm]
    }
