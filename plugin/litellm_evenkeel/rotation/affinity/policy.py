"""Whether a request goes where its session is pinned, and whether that pin still holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.settings import AffinitySettings


class AffinityDecision(StrEnum):
    """What becomes of a request whose session is pinned, and why."""

    FOLLOW = "follow"
    NOT_A_CANDIDATE = "not offered"
    """The account may not answer this one request: it has been tried already, or a filter has left it out."""
    COOLING_DOWN = "held"
    FAILING = "failing"
    SLOW = "slow"
    OVERLOADED = "hot"
    """What the session is known by is shared by so many that they would crowd the account."""
    COOLING_DOWN_LONG = "held long"
    QUARANTINED = "quarantined"

    @property
    def follows(self) -> bool:
        """Whether the request goes to the pinned account."""
        return self is AffinityDecision.FOLLOW

    @property
    def keeps_pin(self) -> bool:
        """Whether the session comes back later: what is chosen now is then a fallback."""
        return self not in {AffinityDecision.COOLING_DOWN_LONG, AffinityDecision.QUARANTINED}

    @property
    def is_temporary(self) -> bool:
        """Whether nothing but want of room, or of an offer, may have kept the request from the pinned account."""
        return self in {AffinityDecision.FOLLOW, AffinityDecision.NOT_A_CANDIDATE}


@dataclass(frozen=True, slots=True)
class PinnedAccount:
    """The pinned account, as it looks when the request comes."""

    is_candidate: bool = True
    is_quarantined: bool = False
    cooldown_left: float = 0.0
    """Seconds until it is free again."""
    failures: float = 0
    """How often it has failed since its last success."""
    latency: float | None = None
    """Seconds, of late; None if nobody knows, or what is known is old: who is left alone gets no newer figure."""
    median_latency: float | None = None
    """The same of its group."""
    is_overloaded: bool = False


def decide(pinned_account: PinnedAccount, settings: AffinitySettings) -> AffinityDecision:
    """Say whether a request follows its session's pin. What ends a pin is told before what only passes it by."""
    if pinned_account.is_quarantined:
        return AffinityDecision.QUARANTINED
    if pinned_account.cooldown_left > settings.repin_after:
        return AffinityDecision.COOLING_DOWN_LONG
    return _passing(pinned_account, settings)


def _passing(pinned_account: PinnedAccount, settings: AffinitySettings) -> AffinityDecision:
    if not pinned_account.is_candidate:
        return AffinityDecision.NOT_A_CANDIDATE
    if pinned_account.cooldown_left > 0:
        return AffinityDecision.COOLING_DOWN
    if pinned_account.failures >= settings.failing_after:
        return AffinityDecision.FAILING
    if _is_slow(pinned_account, settings):
        return AffinityDecision.SLOW
    return AffinityDecision.OVERLOADED if pinned_account.is_overloaded else AffinityDecision.FOLLOW


def _is_slow(pinned_account: PinnedAccount, settings: AffinitySettings) -> bool:
    if pinned_account.latency is None or pinned_account.median_latency is None:
        return False
    return pinned_account.latency > max(pinned_account.median_latency * settings.slow_factor, settings.slow_floor)
