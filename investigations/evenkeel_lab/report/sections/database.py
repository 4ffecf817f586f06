"""What each arm asks of its database for a request, operation by operation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import code, paragraph, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.stats.compare import Comparison

# What comes less often than once in fifty requests is not about requests.
LEAST = 0.02
# A lookup for every request, or for every other one: what a proxy writes now and then differs by less.
TELLING = 0.5


def database(case: Case, _: Mapping[str, str]) -> str:
    """Return a table with a row for each operation of LiteLLM's database client, those that differ most first."""
    told = _asked(case)
    arms = list(told)
    names = set().union(*told.values())
    each = {name: [told[arm].get(name, 0.0) for arm in arms] for name in names}
    rows = [
        [text(name), *(f"{often:.2f}" for often in each[name])]
        for name in sorted(each, key=lambda name: (min(each[name]) - max(each[name]), -max(each[name]), name))
        if max(each[name]) >= LEAST
    ]
    if not rows:
        return ""
    about = (
        "How often LiteLLM's database client was asked for each of them, for a request, those first that differ most. "
        "What LiteLLM writes in the background, of several requests at once, is among them. One operation may take "
        "several transactions in Postgres (`database_calls`), and several writes may share one."
    )
    return "\n\n".join(["## Database operations", paragraph(about), table(("operation", *arms), rows, set(arms))])


def dearest(case: Case, one: Comparison) -> str:
    """Say which operation an arm asks for that the other does not, as far as that is one of each request."""
    told = _asked(case)
    first, second = (told.get(arm, {}) for arm in (one.baseline, one.candidate))
    differs = {name: second.get(name, 0.0) - first.get(name, 0.0) for name in first.keys() | second.keys()}
    name = max(differs, key=lambda name: (abs(differs[name]), name), default="")
    if not name or abs(differs[name]) < TELLING:
        return ""
    often = f"{second.get(name, 0.0):.2f} for a request, against {first.get(name, 0.0):.2f}"
    return f" What differs most at its database is {code(name)}: {often}."


def _asked(case: Case) -> dict[str, dict[str, float]]:
    """Return how often each arm asks for each operation, for a request."""
    requests: Counter[str] = Counter()
    asked: dict[str, Counter[str]] = {arm: Counter() for arm in case.asked.arms}
    for runs in case.summary.done.values():
        for run in runs:
            if run.arm in asked and run.operations and not any(one.limited for one in runs):
                requests[run.arm] += run.requests
                asked[run.arm].update(run.operations)
    return {arm: {name: many / requests[arm] for name, many in asked[arm].items()} for arm in asked if requests[arm]}
