"""A load, beside the same one with a stub for its provider: what is left then is the proxy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.diagnosis import words
from evenkeel_lab.diagnosis.checks.levels import FEW, MOST
from evenkeel_lab.diagnosis.checks.upstream import FASTER
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence

CHECK = "stub"
SEARCH = "Diagnose the stub's own run: it says what in the proxy the time goes to."


def beside(e: Evidence, stub: Evidence) -> Finding:
    """Say which share of a load's time is left when its provider is a stub."""
    with_provider, with_stub = e.split.latency, stub.split.latency
    if with_provider is None or with_stub is None or min(with_provider.count, with_stub.count) < FEW:
        return untold(
            CHECK, Place.NOWHERE, "which share is left with a stub", cure=f"make both loads of {FEW} requests or more"
        )
    # What the stub took itself is known where it says so.
    own = max(0.0, with_stub.mean - stub.split.mean("upstream"))
    share = min(own / with_provider.mean, 1.0)
    doubts = _doubts(e, stub)
    is_local = share >= MOST
    told = f"{words.share(share)} of the time is left when the provider is a stub"
    return Finding(
        CHECK,
        Place.LOCAL if is_local else Place.UPSTREAM,
        State.BINDS,
        told if is_local else f"{words.share(1 - share)} of the time was the provider's: {told}",
        (
            f"{words.ms(with_provider.mean)} in the mean with the provider",
            f"{words.ms(own)} with the stub, without what that took itself",
        ),
        {"share": share, "local_ms": own, "mean_ms": with_provider.mean},
        Sure.LOW if doubts else Sure.FAIR,
        "; ".join(doubts) or "the two loads were made one after the other",
        SEARCH if is_local else FASTER,
    )


def _doubts(e: Evidence, stub: Evidence) -> list[str]:
    """Return in what the two loads differ, beside the provider."""
    pairs = {
        "users": (e.step.users, stub.step.users),
        "arrivals": (e.step.arrivals, stub.step.arrivals),
        "kinds of requests": (_kinds(e), _kinds(stub)),
    }
    return [f"the {what} differ: {here} and {there}" for what, (here, there) in pairs.items() if here != there]


def _kinds(e: Evidence) -> str:
    return ", ".join(sorted(name for name in e.step.calls if name != "all"))
