"""The time of a request by what it waited for, from the spans that a proxy recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.stack.probes.traces_of_proxy import AUTHENTICATION, DATABASE, PROVIDER, REDIS

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHER = "other"
PARTS = (AUTHENTICATION, DATABASE, REDIS, PROVIDER, OTHER)
# Authentication looks keys up in Redis and in the database, and each of these counts as itself.
INNERMOST_FIRST = (PROVIDER, DATABASE, REDIS, AUTHENTICATION)


def waits(duration: int, spans: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """Return the time of a request by part. Each moment counts once, for the innermost part whose span contains it."""
    changes = []
    for part, first, last in spans:
        begin, end = max(first, 0), min(last, duration)
        if begin < end:
            changes += [(begin, part, 1), (end, part, -1)]
    result = dict.fromkeys(PARTS, 0)
    depth = dict.fromkeys(INNERMOST_FIRST, 0)
    before = 0
    for moment, part, change in [*sorted(changes), (duration, AUTHENTICATION, 0)]:
        result[next((part for part in INNERMOST_FIRST if depth[part]), OTHER)] += moment - before
        depth[part] += change
        before = moment
    return result
