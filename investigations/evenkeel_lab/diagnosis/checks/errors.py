"""Checks of failed requests and retries, by kind of error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import MOST
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.diagnosis.evidence import Evidence

MS = 1000.0
SERVER = tuple(f"http_{status}" for status in range(500, 600))


@dataclass(frozen=True)
class Group:
    """Error classes with a common cause and hint."""

    check: str
    classes: tuple[str, ...]
    """Error classes of the load generator; empty for all that no other group names."""
    location: Location
    """Location of the error if the answers carry no headers of the provider."""
    verdict: str
    hint: str


GROUPS = (
    Group(
        "limits",
        ("http_429",),
        Location.UNKNOWN,
        "requests were refused for being too many",
        "Of the provider's limits: more accounts, or fewer requests to each. Of the proxy's own: the key's, team's or "
        "user's `rpm_limit`, `tpm_limit`, `max_parallel_requests` and budget. The proxy's log says which.",
    ),
    Group(
        "keys",
        ("http_401", "http_403"),
        Location.UNKNOWN,
        "requests were refused for their key",
        "Check --api-key against the proxy, and the provider's keys in the proxy's `model_list`.",
    ),
    Group(
        "failures",
        SERVER,
        Location.UNKNOWN,
        "requests failed with an error of the server",
        "The proxy's log says whether it was the provider; if so, `num_retries` and another deployment hide it.",
    ),
    Group(
        "timeouts",
        ("timeout",),
        Location.UNKNOWN,
        "requests were given up",
        "See whether the provider hangs (it is then in its log, too) or the proxy was busy; a `timeout` of the proxy's "
        "own below the load's turns a hanging provider into a retry.",
    ),
    Group(
        "connections",
        ("refused", "unresolved", "tls", "reset", "network"),
        Location.LOCAL,
        "connections failed",
        "Refused: it is down, or its queue of connections is full. Reset: it crashed, or closes idle connections. "
        "Network: see locust.log; open files (`ulimit -n`) and ports for connections may have run out.",
    ),
    Group(
        "answers",
        (),
        Location.UNKNOWN,
        "answers were broken, or refused what was asked",
        "Make one such request by hand and look at what comes; locust.log describes unexpected answers.",
    ),
)
NAMED = {name for group in GROUPS for name in group.classes}


def _finding(group: Group, e: Evidence) -> Finding | None:
    error = e.requests.error
    own = ~e.requests.ok & np.array(
        [name in group.classes if group.classes else name not in NAMED for name in error], dtype=bool
    )
    count = int(own.sum())
    if not count:
        return None
    share, classes = count / len(error), sorted(set(error[own]))
    echoed = float((~np.isnan(e.requests.received[own])).mean())
    begin, end = (float(value) / MS for value in np.quantile(e.requests.end[own], [0.05, 0.95]))
    from_upstream = echoed >= MOST
    return Finding(
        group.check,
        Location.UPSTREAM if from_upstream else group.location,
        Impact.BINDS if share >= MOST else Impact.COSTS,
        group.verdict + (", by the provider" if from_upstream else ""),
        (
            f"{count:,} of {len(error):,} requests ({formatting.share(share)}): {', '.join(classes)}",
            f"nine of ten of them between second {begin:.1f} and {end:.1f} of {e.requests.span / MS:.1f}",
            *([f"{formatting.share(echoed)} of them carry the provider's own headers"] if from_upstream else []),
        ),
        {"count": float(count), "share": share, "echoed": echoed},
        Confidence.HIGH if from_upstream or group.location is not Location.UNKNOWN else Confidence.FAIR,
        "the answers say so themselves"
        if from_upstream or group.location is not Location.UNKNOWN
        else "it is certain that they failed; the records do not say whether the proxy or the provider caused it",
        group.hint,
    )


def none(e: Evidence) -> Finding | None:
    """Report that no request failed, if so."""
    if not len(e.requests) or not e.requests.ok.all():
        return None
    return Finding("errors", Location.UNKNOWN, Impact.CLEAR, "no request failed", (f"{len(e.requests):,} requests",))


def retries(e: Evidence) -> Finding | None:
    """Report retries by the proxy. The time of failed attempts counts as the proxy's."""
    again = e.requests.retries > 0
    if not again.any():
        return None
    share = float(again.mean())
    return Finding(
        "retries",
        Location.UPSTREAM,
        Impact.COSTS,
        "the proxy had to try again",
        (f"{int(again.sum()):,} of {len(again):,} requests ({formatting.share(share)}) took more than one attempt",),
        {"share": share},
        Confidence.FAIR,
        "the proxy says how often it tried, not why; the time of attempts that failed counts as the proxy's here",
        "Its log says what failed; give an account that fails a cooldown, or take it out.",
    )


GROUPED: tuple[Callable[[Evidence], Finding | None], ...] = tuple(partial(_finding, group) for group in GROUPS)
