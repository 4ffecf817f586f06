"""Whether a request goes where its session is pinned, and whether that pin still holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.sticky_terms import StickyTerms


class Advice(StrEnum):
    """What becomes of a request whose session is pinned, and why."""

    FOLLOW = "follow"
    NOT_OFFERED = "not offered"
    """The account may not answer this one request: it has been tried already, or a filter has left it out."""
    HELD = "held"
    FAILING = "failing"
    SLOW = "slow"
    HOT = "hot"
    """What the session is known by is shared by so many that they would crowd the account."""
    HELD_LONG = "held long"
    QUARANTINED = "quarantined"

    @property
    def follows(self) -> bool:
        """Whether the request goes to the pinned account."""
        return self is Advice.FOLLOW

    @property
    def keeps_pin(self) -> bool:
        """Whether the session comes back later: what is chosen now is then a fallback."""
        return self not in {Advice.HELD_LONG, Advice.QUARANTINED}

    @property
    def only_waits(self) -> bool:
        """Whether nothing but want of room, or of an offer, may have kept the request from the pinned account."""
        return self in {Advice.FOLLOW, Advice.NOT_OFFERED}


@dataclass(frozen=True, slots=True)
class Sight:
    """The pinned account, as it looks when the request comes."""

    is_offered: bool = True
    is_quarantined: bool = False
    held_for: float = 0.0
    """Seconds until it is free again."""
    failures: float = 0
    """How often it has failed since its last success."""
    latency: float | None = None
    """Seconds, of late; None if nobody knows, or what is known is old: who is left alone gets no newer figure."""
    median: float | None = None
    """The same of its group."""
    is_hot: bool = False


def advise(sight: Sight, terms: StickyTerms) -> Advice:
    """Say whether a request follows its session's pin. What ends a pin is told before what only passes it by."""
    if sight.is_quarantined:
        return Advice.QUARANTINED
    if sight.held_for > terms.repin_after:
        return Advice.HELD_LONG
    return _passing(sight, terms)


def _passing(sight: Sight, terms: StickyTerms) -> Advice:
    if not sight.is_offered:
        return Advice.NOT_OFFERED
    if sight.held_for > 0:
        return Advice.HELD
    if sight.failures >= terms.failing_after:
        return Advice.FAILING
    if _is_slow(sight, terms):
        return Advice.SLOW
    return Advice.HOT if sight.is_hot else Advice.FOLLOW


def _is_slow(sight: Sight, terms: StickyTerms) -> bool:
    if sight.latency is None or sight.median is None:
        return False
    return sight.latency > max(sight.median * terms.slow_factor, terms.slow_floor)
