"""Check whether requests waited for each other in the proxy, for whatever resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import BUSY, CROWD, MOST
from evenkeel_lab.diagnosis.concurrency import concurrent_at, measure_slowdown
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence

LOCAL = Location.LOCAL
# With 1.5 times the users, an unsaturated proxy answers clearly more; runs alone differ by a tenth.
MORE_USERS, FLAT, SLOWER = 1.5, 1.1, 1.3
# As in the check of the provider's queue.
GROWS, RANK, LEVEL = 1.5, 0.3, 1.2
# Service times of requests differ, but seldom by this factor.
QUEUED = 2.0
LADDER = "make a ladder of it, `--users 1,10,50`, or load it with --pid, the proxy's process"


def queue(e: Evidence) -> Finding | None:
    """Check whether the proxy took longer with more concurrent requests."""
    split = e.split
    if not split.is_upstream_known or e.is_direct:
        return None
    law = f"{formatting.rate(split.rate)}, each for {formatting.ms(split.mean('proxy'))}"
    because = [f"{formatting.mean(split.inside)} requests were inside the proxy at once ({law})"]
    numbers = {"inside": split.inside, "share": split.share("proxy")}
    if split.inside < CROWD or split.share("proxy") < MOST:
        return Finding("queue", LOCAL, Impact.CLEAR, "requests did not wait for each other", tuple(because), numbers)
    for compare in (_ladder, _crowd, _quickest):
        result = compare(e)
        if result is None:
            continue
        waits, comparison, confidence, why = result
        if waits:
            return _waits(e, (*because, comparison), numbers, confidence, why)
        verdict = "the proxy took as long with many as with few: they did not wait for each other"
        return Finding("queue", LOCAL, Impact.CLEAR, verdict, (*because, comparison), numbers, confidence, why)
    return Finding(
        "queue", LOCAL, Impact.UNKNOWN, "whether requests waited for each other", tuple(because), numbers, hint=LADDER
    )


def _waits(
    e: Evidence, because: tuple[str, ...], numbers: dict[str, float], confidence: Confidence, why: str
) -> Finding:
    if e.busiest is None:
        verdict, hint = (
            "requests waited for each other in the proxy",
            "To learn what they waited for, load the proxy with --pid.",
        )
    elif e.is_cramped:
        verdict = "requests waited for each other in the proxy"
        hint = "Whether they waited for a core, on a machine that was full, was not counted: run it alone."
    elif e.busiest.demand < BUSY:
        verdict = "requests waited for each other in the proxy, though none of its processes was busy"
        hint = (
            "Look for a pool or a limit that is too small: `database_connection_pool_limit`, `max_parallel_requests`, "
            "the provider client's connections; an investigation records what Postgres was waited for."
        )
    else:
        verdict, hint = "requests waited for each other in the proxy", "See cpu: give the proxy less to do, or workers."
    return Finding("queue", LOCAL, Impact.BINDS, verdict, because, numbers, confidence, why, hint)


def _ladder(e: Evidence) -> tuple[bool, str, Confidence, str] | None:
    """Compare with a step of fewer users: a saturated proxy answers no more requests, only later."""
    fewer = [rung for rung in e.ladder if rung.users * MORE_USERS <= e.step.users]
    own = next((rung for rung in e.ladder if rung.users == e.step.users), None)
    if not fewer or own is None or not e.is_closed:
        return None
    before = fewer[-1]
    gain, delay = own.answered / before.answered, own.latency / before.latency
    comparison = (
        f"{before.users} users: {formatting.rate(before.answered)}, {formatting.ms(before.latency)}; "
        f"{own.users} users: {formatting.rate(own.answered)}, {formatting.ms(own.latency)}"
    )
    if gain < FLAT and delay > SLOWER:
        return True, comparison, Confidence.HIGH, "more users brought no more answers, only later ones"
    return (False, comparison, Confidence.HIGH, "more users brought more answers") if delay < LEVEL else None


def _crowd(e: Evidence) -> tuple[bool, str, Confidence, str] | None:
    """Compare requests with many concurrent ones in the proxy with requests with few."""
    requests = e.requests
    known = requests.known
    starts, ends = requests.sent[known], requests.arrived[known]
    concurrent = concurrent_at(starts, ends, starts)
    if requests.one_clock:
        concurrent -= concurrent_at(requests.received[known], requests.answered[known], starts)
    slowdown = measure_slowdown(concurrent, requests.proxy[known])
    if slowdown is None:
        return None
    comparison = (
        f"{formatting.ms(slowdown.quick)} for those that met {formatting.mean(slowdown.few)} others there, "
        f"{formatting.ms(slowdown.slow)} for those that met {formatting.mean(slowdown.many)}"
    )
    if slowdown.ratio >= GROWS and slowdown.rank >= RANK:
        return (
            True,
            comparison,
            Confidence.FAIR,
            "a proxy that stalls now and then also collects concurrent requests",
        )
    return (
        (False, comparison, Confidence.FAIR, "their number varied, their time did not")
        if slowdown.ratio < LEVEL
        else None
    )


def _quickest(e: Evidence) -> tuple[bool, str, Confidence, str] | None:
    """If concurrency is constant, compare with the quickest requests: their time is needed without a queue."""
    took = e.requests.proxy[e.requests.known]
    quickest, usual = float(np.quantile(took, 0.01)), float(np.median(took))
    if quickest <= 0 or usual / quickest < QUEUED:
        return None
    comparison = f"the quickest hundredth needed {formatting.ms(quickest)}, the median {formatting.ms(usual)}"
    return (
        True,
        comparison,
        Confidence.LOW,
        "as many were inside all the time, and requests may differ in what they need",
    )
