"""Whether it was the provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FELT, FEW, MOST
from evenkeel_lab.diagnosis.concurrency import growth, met
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.latency_breakdown import Split

UPSTREAM = Place.UPSTREAM
# A provider that has servers enough takes as long for one as for many: half as long again is no accident.
GROWS, RANK = 1.5, 0.3
# Deployments differ; one that takes twice as long is another kind of thing.
TWICE = 2.0
FASTER = "Nothing in the proxy can win more than its own share: take a faster model or region, ask for shorter answers."


def share(e: Evidence) -> Finding:
    """Say which share of the time was the provider's."""
    split = e.split
    if not split.is_told:
        return untold(
            "upstream",
            UPSTREAM,
            "what the provider took, and so what the proxy added",
            hint="put `evenkeel mock` behind the proxy, which echoes it, and make the same load",
        )
    # Nothing but the provider has a hand in the streams of a load that goes straight to it.
    parts = ("upstream", "stream") if e.is_direct else ("upstream",)
    told, took = sum(map(split.share, parts)), sum(map(split.mean, parts))
    echoed = "" if e.is_direct else ", as it echoed"
    return Finding(
        "upstream",
        UPSTREAM,
        State.BINDS if told >= MOST else State.COSTS if told >= FELT else State.CLEAR,
        f"{formatting.share(told)} of the time was the provider's",
        (f"{formatting.ms(took)} of {formatting.ms(split.mean('latency'))} in the mean{echoed}",),
        {"share": told, "upstream_ms": took},
        why="nothing stood between the load and the provider"
        if e.is_direct
        else "each answer says when the provider received its request and when it began to send",
        hint=FASTER,
    )


def pace(e: Evidence) -> Finding | None:
    """Say that nobody knows whose pace streams kept after their first token, where that matters."""
    streamed = e.split.share("stream")
    if not e.split.is_told or e.is_direct or not (is_open(e.split) or streamed >= FELT):
        return None
    return untold(
        "pace",
        Place.NOWHERE,
        f"whether streaming, which took {formatting.share(streamed)} of the time, "
        "kept the provider's pace or the proxy's",
        hint="load the provider directly with the same streams, and compare how long they take after the first token",
    )


def is_open(split: Split) -> bool:
    """Say whether the provider took most of the time if, and only if, streams kept its pace."""
    told = split.share("upstream")
    return told < MOST <= told + split.share("stream")


def crowded(e: Evidence) -> Finding | None:
    """Say whether the provider was slower the more it was asked at once."""
    known = e.requests.known
    if not e.requests.one_clock or e.split.share("upstream") < FELT:
        return None
    starts, ends = e.requests.received[known], e.requests.answered[known]
    found = growth(met(starts, ends, starts), e.requests.upstream[known])
    if found is None or found.ratio < GROWS or found.rank < RANK:
        return None
    return Finding(
        "provider queue",
        UPSTREAM,
        State.COSTS,
        "the provider was slower the more it was asked at once",
        (
            f"it took {formatting.ms(found.quick)} while it had {formatting.mean(found.few)} others",
            f"it took {formatting.ms(found.slow)} while it had {formatting.mean(found.many)}",
        ),
        {"few": found.few, "many": found.many, "quick_ms": found.quick, "slow_ms": found.slow, "rank": found.rank},
        Sure.FAIR,
        "a provider that stands still also collects requests meanwhile",
        "Spread requests over more accounts or deployments, or bound how many are sent to one at once.",
    )


def deployments(e: Evidence) -> Finding | None:
    """Say whether one of several deployments was slow."""
    known, names = e.requests.known, e.requests.deployment
    medians = {}
    for name in sorted({name for name in names[known] if name is not None}):
        own = known & (names == name)
        if own.sum() >= FEW:
            medians[name] = float(np.median(e.requests.upstream[own]))
    if len(medians) < 2:  # noqa: PLR2004  # one can only be compared with another
        return None
    (quick, least), *_, (slow, most) = sorted(medians.items(), key=lambda one: one[1])
    if most < TWICE * least or e.split.share("upstream") < FELT:
        return None
    return Finding(
        "deployments",
        UPSTREAM,
        State.COSTS,
        f"deployment {slow} was much slower than others",
        (f"{formatting.ms(most)} in the median, against {formatting.ms(least)} of {quick}",),
        {"slow_ms": most, "quick_ms": least},
        why="the proxy says which deployment answered",
        hint="Give it less weight, or take it out; latency-based routing would do so by itself.",
    )
