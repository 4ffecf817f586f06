"""Comparison of a load with the same load on a stub provider: the remaining time is spent in the proxy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FEW, MOST
from evenkeel_lab.diagnosis.checks.upstream import FASTER
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.latency_breakdown import Split

CHECK = "stub"
SAME_RATE = 0.1
SEARCH = "Diagnose the stub's own run: it says what in the proxy the time goes to."


def compare_with_stub(e: Evidence, stub: Evidence) -> Finding:
    """Return the share of a load's time that remains when its provider is a stub."""
    with_provider, with_stub = e.split.latency, stub.split.latency
    if with_provider is None or with_stub is None or min(with_provider.count, with_stub.count) < FEW:
        return unknown(
            CHECK,
            Location.UNKNOWN,
            "which share is left with a stub",
            hint=f"make both loads of {FEW} requests or more",
        )
    total, own = _inside(e.split), stub.split.mean("proxy") if stub.split.is_upstream_known else _inside(stub.split)
    share = min(own / total, 1.0) if total > 0 else 1.0
    without_stub = ", without the time of the stub itself" if stub.split.is_upstream_known else ""
    caveats = _caveats(e, stub)
    is_local = share >= MOST
    left = f"{formatting.share(share)} of the time is left when the provider is a stub"
    return Finding(
        CHECK,
        Location.LOCAL if is_local else Location.UPSTREAM,
        Impact.BINDS,
        left if is_local else f"{formatting.share(1 - share)} of the time was the provider's: {left}",
        (
            f"{formatting.ms(total)} in the mean with the provider",
            f"{formatting.ms(own)} with the stub{without_stub}",
        ),
        {"share": share, "local_ms": own, "mean_ms": total},
        Confidence.LOW if caveats else Confidence.FAIR,
        "; ".join(caveats) or "the two loads were made one after the other",
        SEARCH if is_local else FASTER,
    )


def _inside(split: Split) -> float:
    """Return the mean time in the proxy and at the provider; of streams, until the first token.

    After it, the provider or the proxy may limit the stream. A wait in the client concerns neither.
    """
    return (split.latency.mean if split.latency else 0.0) - split.mean("wait") - split.mean("stream")


def _caveats(e: Evidence, stub: Evidence) -> list[str]:
    """Return the reasons why the two loads may not be comparable."""
    pairs = {
        "users": (e.step.users, stub.step.users),
        "arrivals": (e.step.arrivals, stub.step.arrivals),
        "kinds of requests": (_kinds(e), _kinds(stub)),
    }
    caveats = [f"the {what} differ: {ours} and {stubs}" for what, (ours, stubs) in pairs.items() if ours != stubs]
    # Closed arrivals have no offered rate.
    rates = [evidence.step.offered for evidence in (e, stub) if evidence.step.offered is not None]
    if len(rates) > 1 and not math.isclose(*rates, rel_tol=SAME_RATE):
        caveats.append(f"the offered rates differ: {' and '.join(formatting.rate(rate) for rate in rates)}")
    if not stub.split.is_upstream_known:
        caveats.append("the stub does not tell how long it took, so its time counts as the proxy's")
    if e.split.stream is not None or stub.split.stream is not None:
        caveats.append("streams are compared until their first token")
    for which, evidence in (("load", e), ("stub's load", stub)):
        caveats += [f"the {which} was limited by the rig: {why}" for why in evidence.step.limited]
    return caveats


def _kinds(e: Evidence) -> str:
    return ", ".join(sorted(name for name in e.step.calls if name != "all"))
