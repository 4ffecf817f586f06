"""Checks of the provider: its share of the time, its queue and its deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FELT, FEW, MOST
from evenkeel_lab.diagnosis.concurrency import concurrent_at, measure_slowdown
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.latency_breakdown import Split

UPSTREAM = Location.UPSTREAM
# A provider with enough capacity is as fast with many concurrent requests as with one.
GROWS, RANK = 1.5, 0.3
# Deployments differ, but seldom by this factor.
SLOW_DEPLOYMENT = 2.0
FASTER = "Nothing in the proxy can win more than its own share: take a faster model or region, ask for shorter answers."


def share(e: Evidence) -> Finding:
    """Return the provider's share of the time."""
    split = e.split
    if not split.is_upstream_known:
        return unknown(
            "upstream",
            UPSTREAM,
            "what the provider took, and so what the proxy added",
            hint="put `evenkeel mock` behind the proxy, which echoes it, and make the same load",
        )
    # Without a proxy, streams are the provider's alone.
    parts = ("upstream", "stream") if e.is_direct else ("upstream",)
    fraction, took = sum(map(split.share, parts)), sum(map(split.mean, parts))
    echoed = "" if e.is_direct else ", as it echoed"
    return Finding(
        "upstream",
        UPSTREAM,
        Impact.BINDS if fraction >= MOST else Impact.COSTS if fraction >= FELT else Impact.CLEAR,
        f"{formatting.share(fraction)} of the time was the provider's",
        (f"{formatting.ms(took)} of {formatting.ms(split.mean('latency'))} in the mean{echoed}",),
        {"share": fraction, "upstream_ms": took},
        why="nothing stood between the load and the provider"
        if e.is_direct
        else "each answer says when the provider received its request and when it began to send",
        hint=FASTER,
    )


def stream_pace(e: Evidence) -> Finding | None:
    """Report that provider or proxy may have limited the streams, if that matters for the diagnosis."""
    streamed = e.split.share("stream")
    if not e.split.is_upstream_known or e.is_direct or not (depends_on_streams(e.split) or streamed >= FELT):
        return None
    return unknown(
        "pace",
        Location.UNKNOWN,
        f"whether streaming, which took {formatting.share(streamed)} of the time, "
        "kept the provider's pace or the proxy's",
        hint="load the provider directly with the same streams, and compare how long they take after the first token",
    )


def depends_on_streams(split: Split) -> bool:
    """Whether the provider took most of the time only if it also limited the streams."""
    fraction = split.share("upstream")
    return fraction < MOST <= fraction + split.share("stream")


def provider_queue(e: Evidence) -> Finding | None:
    """Check whether the provider was slower with more concurrent requests."""
    known = e.requests.known
    if not e.requests.one_clock or e.split.share("upstream") < FELT:
        return None
    starts, ends = e.requests.received[known], e.requests.answered[known]
    slowdown = measure_slowdown(concurrent_at(starts, ends, starts), e.requests.upstream[known])
    if slowdown is None or slowdown.ratio < GROWS or slowdown.rank < RANK:
        return None
    return Finding(
        "provider queue",
        UPSTREAM,
        Impact.COSTS,
        "the provider was slower the more it was asked at once",
        (
            f"it took {formatting.ms(slowdown.quick)} while it had {formatting.mean(slowdown.few)} others",
            f"it took {formatting.ms(slowdown.slow)} while it had {formatting.mean(slowdown.many)}",
        ),
        {
            "few": slowdown.few,
            "many": slowdown.many,
            "quick_ms": slowdown.quick,
            "slow_ms": slowdown.slow,
            "rank": slowdown.rank,
        },
        Confidence.FAIR,
        "a provider that stalls also collects concurrent requests",
        "Spread requests over more accounts or deployments, or bound how many are sent to one at once.",
    )


def deployments(e: Evidence) -> Finding | None:
    """Check whether one deployment was much slower than another one."""
    known, names = e.requests.known, e.requests.deployment
    medians = {}
    for name in sorted({name for name in names[known] if name is not None}):
        own = known & (names == name)
        if own.sum() >= FEW:
            medians[name] = float(np.median(e.requests.upstream[own]))
    if len(medians) < 2:  # noqa: PLR2004  # a comparison needs two
        return None
    (quick, least), *_, (slow, most) = sorted(medians.items(), key=lambda item: item[1])
    if most < SLOW_DEPLOYMENT * least or e.split.share("upstream") < FELT:
        return None
    return Finding(
        "deployments",
        UPSTREAM,
        Impact.COSTS,
        f"deployment {slow} was much slower than others",
        (f"{formatting.ms(most)} in the median, against {formatting.ms(least)} of {quick}",),
        {"slow_ms": most, "quick_ms": least},
        why="the proxy says which deployment answered",
        hint="Give it less weight, or remove it; latency-based routing does so automatically.",
    )
