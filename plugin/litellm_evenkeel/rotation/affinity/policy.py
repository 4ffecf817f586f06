"""Decision whether a request goes to the account that its session is pinned to, and whether the pin remains."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.settings import AffinitySettings


class AffinityDecision(StrEnum):
    """Decision about a request with a pinned session, and its reason."""

    FOLLOW = "follow"
    NOT_A_CANDIDATE = "not_a_candidate"
    """The account cannot serve this one request: it was tried before, or a filter removed it."""
    COOLING_DOWN = "cooling_down"
    FAILING = "failing"
    SLOW = "slow"
    OVERLOADED = "overloaded"
    """Many sessions share the key, and their requests would overload the account."""
    COOLING_DOWN_LONG = "cooling_down_long"
    QUARANTINED = "quarantined"

    @property
    def follows(self) -> bool:
        """Whether the request goes to the pinned account."""
        return self is AffinityDecision.FOLLOW

    @property
    def keeps_pin(self) -> bool:
        """Whether the session returns later, so that the account picked now is a fallback account."""
        return self not in (AffinityDecision.COOLING_DOWN_LONG, AffinityDecision.QUARANTINED)

    @property
    def is_temporary(self) -> bool:
        """Whether only missing capacity, or a filter, can have kept the request from the pinned account."""
        return self in (AffinityDecision.FOLLOW, AffinityDecision.NOT_A_CANDIDATE)


@dataclass(slots=True)
class PinnedAccount:
    """State of the pinned account when the request arrives."""

    is_candidate: bool = True
    is_quarantined: bool = False
    cooldown_left: float = 0.0
    """Seconds until its cooldown and an operator's pause end; 0 or less if there is neither."""
    failures: float = 0
    """Number of failures since the last success."""
    latency: float | None = None
    """Recent latency in seconds; `None` if unknown or outdated, as an account without traffic gets no newer figure."""
    median_latency: float | None = None
    """Median of the recent latencies in the model group, in seconds; `None` if unknown."""
    is_overloaded: bool = False


def decide(pinned_account: PinnedAccount, settings: AffinitySettings) -> AffinityDecision:
    """Return whether a request follows its session's pin. Reasons that end the pin take precedence over the others."""
    if pinned_account.is_quarantined:
        return AffinityDecision.QUARANTINED
    if pinned_account.cooldown_left > settings.move_after:
        return AffinityDecision.COOLING_DOWN_LONG
    return _decide_temporarily(pinned_account, settings)


def _decide_temporarily(pinned_account: PinnedAccount, settings: AffinitySettings) -> AffinityDecision:
    if not pinned_account.is_candidate:
        return AffinityDecision.NOT_A_CANDIDATE
    if pinned_account.cooldown_left > 0:
        return AffinityDecision.COOLING_DOWN
    if pinned_account.failures >= settings.failure_threshold:
        return AffinityDecision.FAILING
    if _is_slow(pinned_account, settings):
        return AffinityDecision.SLOW
    return AffinityDecision.OVERLOADED if pinned_account.is_overloaded else AffinityDecision.FOLLOW


def _is_slow(pinned_account: PinnedAccount, settings: AffinitySettings) -> bool:
    if pinned_account.latency is None or pinned_account.median_latency is None:
        return False
    return pinned_account.latency > max(pinned_account.median_latency * settings.slow_factor, settings.slow_floor)
