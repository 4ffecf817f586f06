"""What each arm asks of its database for a request, operation by operation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.case import Case

# What comes less often than once in two hundred requests is not about requests.
LEAST = 0.005


def database(case: Case, _: Mapping[str, str]) -> str:
    """Return a table with a row for each operation of LiteLLM's database client, those that differ most first."""
    requests: Counter[str] = Counter()
    asked: dict[str, Counter[str]] = {arm: Counter() for arm in case.asked.arms}
    for runs in case.summary.done.values():
        for run in runs:
            if run.arm in asked and run.operations and not any(one.limited for one in runs):
                requests[run.arm] += run.requests
                asked[run.arm].update(run.operations)
    arms = [arm for arm in asked if requests[arm]]
    told = {
        name: [asked[arm][name] / requests[arm] for arm in arms] for name in set().union(*(asked[arm] for arm in arms))
    }
    rows = [
        [text(name), *(f"{each:.2f}" for each in told[name])]
        for name in sorted(told, key=lambda name: (min(told[name]) - max(told[name]), -max(told[name]), name))
        if max(told[name]) >= LEAST
    ]
    if not rows:
        return ""
    about = (
        "How often LiteLLM's database client was asked for each of them, for a request, those first that differ most."
    )
    return "\n\n".join(["## Database operations", paragraph(about), table(("operation", *arms), rows, set(arms))])
