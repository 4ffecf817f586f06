"""Checks of kinds of requests that may cost more: those of new users, and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FEW
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown
from evenkeel_lab.diagnosis.requests import is_none

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence

# A user's first request is slower by this factor and this time only if it caused a lookup.
GROWS, LEAST_MS = 1.5, 5.0
# The first tenth is left out, because cold caches would be mistaken for the cost of new users.
COLD = 0.1
# A gap counts as a stutter from this factor of the median gap, and this excess over it, on.
STUTTER, SEEN_MS = 5.0, 50.0


def users(e: Evidence) -> Finding | None:
    """Check whether a user's first request took longer in the proxy than later ones."""
    requests = e.requests
    named = ~is_none(requests.user)
    if not named.any():
        return None
    first = np.zeros(len(requests), dtype=bool)
    _, positions = np.unique(requests.user[named].astype(str), return_index=True)
    first[np.flatnonzero(named)[positions]] = True
    warm = named & requests.known & (requests.due > COLD * requests.span)
    new, seen = requests.proxy[warm & first], requests.proxy[warm & ~first]
    if len(new) >= FEW and len(seen) < FEW:
        return unknown(
            "users",
            Location.LOCAL,
            "what an unknown user costs: each request brought one of its own",
            hint="make the same load with --user-mode none, and compare",
        )
    if len(new) < FEW:
        return None
    quick, slow = float(np.median(seen)), float(np.median(new))
    because = (
        f"{formatting.ms(slow)} in the proxy for a user's first request, {formatting.ms(quick)} for its later ones",
        f"{len(new):,} first requests, {len(seen):,} later ones",
    )
    numbers = {"first_ms": slow, "later_ms": quick}
    if slow < GROWS * quick or slow - quick < LEAST_MS:
        return Finding("users", Location.LOCAL, Impact.CLEAR, "an unknown user cost nothing extra", because, numbers)
    return Finding(
        "users",
        Location.LOCAL,
        Impact.COSTS,
        "a user that the proxy does not know yet costs it a lookup",
        because,
        numbers,
        Confidence.FAIR,
        "both kinds were sent in the same minutes; an ablation would prove that the lookup is the cause",
        "Send ids that come again, and raise what the proxy keeps of them (`user_api_key_cache_ttl`, a Redis for it).",
    )


def streams(e: Evidence) -> Finding | None:
    """Report the time to the first token, and check the gaps between tokens."""
    requests = e.requests
    streamed = requests.known & ~np.isnan(requests.first_token)
    calls = e.step.calls.get("all") or next(iter(e.step.calls.values()), None)
    if calls is None or calls.first_token is None or not streamed.any():
        return None
    upstream, proxy = (float(np.median(part[streamed])) for part in (requests.upstream, requests.proxy))
    because = [
        f"the first token came after {formatting.ms(calls.first_token.mean)} in the mean",
        f"in the median {formatting.ms(upstream)} of that were the provider's, {formatting.ms(proxy)} the proxy's",
    ]
    numbers = {"upstream_ms": upstream, "proxy_ms": proxy}
    gap = calls.gap
    p50, p99 = (gap.quantiles.get(name) if gap else None for name in ("p50", "p99"))
    if p50 is None or p99 is None:
        return Finding(
            "streams", Location.UNKNOWN, Impact.CLEAR, "too few tokens to judge gaps", tuple(because), numbers
        )
    because.append(f"then a gap of {formatting.ms(p50)} in the median, {formatting.ms(p99)} for one of a hundred")
    numbers |= {"gap_p50_ms": p50, "gap_p99_ms": p99}
    if p99 < STUTTER * p50 or p99 - p50 < SEEN_MS:
        return Finding("streams", Location.UNKNOWN, Impact.CLEAR, "streams flowed evenly", tuple(because), numbers)
    return Finding(
        "streams",
        Location.UNKNOWN,
        Impact.COSTS,
        "streams stuttered",
        tuple(because),
        numbers,
        Confidence.FAIR,
        "the records do not tell when the provider sent each chunk: the provider may have stuttered itself",
        "Load the provider directly with the same stream and compare its gaps; if those are even, see the event loop.",
    )
