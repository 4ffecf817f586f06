"""A load, beside the same one with a stub for its provider: what is left then is the proxy's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FEW, MOST
from evenkeel_lab.diagnosis.checks.upstream import FASTER
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.latency_breakdown import Split

CHECK = "stub"
SAME_RATE = 0.1
SEARCH = "Diagnose the stub's own run: it says what in the proxy the time goes to."


def beside(e: Evidence, stub: Evidence) -> Finding:
    """Say which share of a load's time is left when its provider is a stub."""
    with_provider, with_stub = e.split.latency, stub.split.latency
    if with_provider is None or with_stub is None or min(with_provider.count, with_stub.count) < FEW:
        return untold(
            CHECK, Place.NOWHERE, "which share is left with a stub", hint=f"make both loads of {FEW} requests or more"
        )
    whole, own = _inside(e.split), stub.split.mean("proxy") if stub.split.is_told else _inside(stub.split)
    share = min(own / whole, 1.0) if whole > 0 else 1.0
    doubts = _doubts(e, stub)
    is_local = share >= MOST
    told = f"{formatting.share(share)} of the time is left when the provider is a stub"
    return Finding(
        CHECK,
        Place.LOCAL if is_local else Place.UPSTREAM,
        State.BINDS,
        told if is_local else f"{formatting.share(1 - share)} of the time was the provider's: {told}",
        (
            f"{formatting.ms(whole)} in the mean with the provider",
            f"{formatting.ms(own)} with the stub{', without what that took itself' if stub.split.is_told else ''}",
        ),
        {"share": share, "local_ms": own, "mean_ms": whole},
        Sure.LOW if doubts else Sure.FAIR,
        "; ".join(doubts) or "the two loads were made one after the other",
        SEARCH if is_local else FASTER,
    )


def _inside(split: Split) -> float:
    """Return how long requests were in the proxy and at the provider, in the mean; streams until their first token.

    Whose pace a stream keeps afterwards nobody knows, and what waited in the client waited for neither.
    """
    return (split.latency.mean if split.latency else 0.0) - split.mean("wait") - split.mean("stream")


def _doubts(e: Evidence, stub: Evidence) -> list[str]:
    """Return why the two may not be compared."""
    pairs = {
        "users": (e.step.users, stub.step.users),
        "arrivals": (e.step.arrivals, stub.step.arrivals),
        "kinds of requests": (_kinds(e), _kinds(stub)),
    }
    doubts = [f"the {what} differ: {here} and {there}" for what, (here, there) in pairs.items() if here != there]
    # Of a load in a loop there is none.
    rates = [one.step.offered for one in (e, stub) if one.step.offered is not None]
    if len(rates) > 1 and not math.isclose(*rates, rel_tol=SAME_RATE):
        doubts.append(f"the offered rates differ: {' and '.join(formatting.rate(rate) for rate in rates)}")
    if not stub.split.is_told:
        doubts.append("the stub does not tell how long it took, so that this counts as the proxy's")
    if e.split.stream is not None or stub.split.stream is not None:
        doubts.append("streams are compared until their first token")
    for which, one in (("load", e), ("stub's load", stub)):
        doubts += [f"the {which} was limited by the rig: {why}" for why in one.step.limited]
    return doubts


def _kinds(e: Evidence) -> str:
    return ", ".join(sorted(name for name in e.step.calls if name != "all"))
