"""Whether requests waited for each other in the proxy, whatever it was that they waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import BUSY, CROWD, MOST
from evenkeel_lab.diagnosis.concurrency import growth, met
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence

LOCAL = Place.LOCAL
# With half again as many users, a proxy that has room answers more; a tenth of that is within what runs differ by.
MORE_USERS, FLAT, SLOWER = 1.5, 1.1, 1.3
# As for the provider's queue.
GROWS, RANK, LEVEL = 1.5, 0.3, 1.2
# Requests differ in what they need, but seldom by a factor of two.
TWICE = 2.0
LADDER = "make a ladder of it, `--users 1,10,50`, or load it with --pid, the proxy's process"


def queue(e: Evidence) -> Finding | None:
    """Say whether the proxy took longer because others were there."""
    split = e.split
    if not split.is_told or e.is_direct:
        return None
    law = f"{formatting.rate(split.rate)}, each for {formatting.ms(split.mean('proxy'))}"
    because = [f"{formatting.mean(split.inside)} requests were inside the proxy at once ({law})"]
    numbers = {"inside": split.inside, "share": split.share("proxy")}
    if split.inside < CROWD or split.share("proxy") < MOST:
        return Finding("queue", LOCAL, State.CLEAR, "requests did not wait for each other", tuple(because), numbers)
    for look in (_ladder, _crowd, _quickest):
        found = look(e)
        if found is None:
            continue
        waits, told, sure, why = found
        if waits:
            return _waits(e, (*because, told), numbers, sure, why)
        verdict = "the proxy took as long with many as with few: they did not wait for each other"
        return Finding("queue", LOCAL, State.CLEAR, verdict, (*because, told), numbers, sure, why)
    return Finding(
        "queue", LOCAL, State.UNTOLD, "whether requests waited for each other", tuple(because), numbers, hint=LADDER
    )


def _waits(e: Evidence, because: tuple[str, ...], numbers: dict[str, float], sure: Sure, why: str) -> Finding:
    if e.busiest is None:
        said, hint = "requests waited for each other in the proxy", "To learn for what: load it with --pid."
    elif e.is_cramped:
        said = "requests waited for each other in the proxy"
        hint = "Whether they waited for a core, on a machine that was full, was not counted: make the load again alone."
    elif e.busiest.wanted < BUSY:
        said = "requests waited for each other in the proxy, though none of its processes was busy"
        hint = (
            "Look for a pool or a limit that is too small: `database_connection_pool_limit`, `max_parallel_requests`, "
            "the provider client's connections; an investigation records what Postgres was waited for."
        )
    else:
        said, hint = "requests waited for each other in the proxy", "See cpu: give the proxy less to do, or workers."
    return Finding("queue", LOCAL, State.BINDS, said, because, numbers, sure, why, hint)


def _ladder(e: Evidence) -> tuple[bool, str, Sure, str] | None:
    """Compare with a run of fewer users: saturated is what answers no more of them, only later."""
    fewer = [one for one in e.ladder if one.users * MORE_USERS <= e.step.users]
    own = next((one for one in e.ladder if one.users == e.step.users), None)
    if not fewer or own is None or not e.is_closed:
        return None
    before = fewer[-1]
    gain, delay = own.answered / before.answered, own.latency / before.latency
    told = (
        f"{before.users} users: {formatting.rate(before.answered)}, {formatting.ms(before.latency)}; "
        f"{own.users} users: {formatting.rate(own.answered)}, {formatting.ms(own.latency)}"
    )
    if gain < FLAT and delay > SLOWER:
        return True, told, Sure.HIGH, "more users brought no more answers, only later ones"
    return (False, told, Sure.HIGH, "more users brought more answers") if delay < LEVEL else None


def _crowd(e: Evidence) -> tuple[bool, str, Sure, str] | None:
    """Compare those that met many others in the proxy with those that met few."""
    requests = e.requests
    known = requests.known
    starts, ends = requests.sent[known], requests.arrived[known]
    others = met(starts, ends, starts)
    if requests.one_clock:
        others -= met(requests.received[known], requests.answered[known], starts)
    found = growth(others, requests.proxy[known])
    if found is None:
        return None
    told = (
        f"{formatting.ms(found.quick)} for those that met {formatting.mean(found.few)} others there, "
        f"{formatting.ms(found.slow)} for those that met {formatting.mean(found.many)}"
    )
    if found.ratio >= GROWS and found.rank >= RANK:
        return True, told, Sure.FAIR, "a proxy that stands still now and then also collects requests meanwhile"
    return (False, told, Sure.FAIR, "their number varied, their time did not") if found.ratio < LEVEL else None


def _quickest(e: Evidence) -> tuple[bool, str, Sure, str] | None:
    """Where always as many are inside, compare with the quickest: what none of them can do without."""
    took = e.requests.proxy[e.requests.known]
    quickest, usual = float(np.quantile(took, 0.01)), float(np.median(took))
    if quickest <= 0 or usual / quickest < TWICE:
        return None
    told = f"the quickest hundredth needed {formatting.ms(quickest)}, the median {formatting.ms(usual)}"
    return True, told, Sure.LOW, "as many were inside all the time, and requests may differ in what they need"
