"""Blocker: why a candidate cannot take a request now, until when, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BlockReason(StrEnum):
    """Why a candidate is blocked."""

    PAUSED = "paused"
    """An operator has paused the account."""
    DRAINING = "draining"
    """An operator drains the account: it takes only requests of sessions that are pinned to it."""
    QUARANTINED = "quarantined"
    """A cooldown without an end: an operator or a new credential ends it."""
    COOLDOWN = "cooldown"
    """It failed recently."""
    PROBING = "probing"
    """Its probe is in flight, and it takes no other request before the result."""
    ESTIMATE_PROBE = "estimate_probe"
    """Estimated cooldowns block all candidates, and each of them has its probe in flight."""
    LIMIT = "limit"
    """A quota window is used up."""
    CONCURRENCY = "concurrency"
    """As many attempts are in flight as its limit allows."""
    FAIR_SHARE = "fair_share"
    """Capacity is scarce, and the client has used its fair share."""


DESCRIPTIONS = {
    BlockReason.PAUSED: "paused by an operator",
    BlockReason.DRAINING: "draining: it takes only sessions that are pinned to it",
    BlockReason.QUARANTINED: "quarantined",
    BlockReason.COOLDOWN: "cooling down",
    BlockReason.PROBING: "its probe is in flight",
    BlockReason.ESTIMATE_PROBE: "another request probes it",
    BlockReason.LIMIT: "a limit is used up",
    BlockReason.CONCURRENCY: "as many requests are in flight as it allows",
    BlockReason.FAIR_SHARE: "the client has used its fair share",
}
"""Reasons in words, for errors and explanations."""


class Certainty(StrEnum):
    """Certainty of a blocker."""

    ESTIMATED = "estimated"
    """The length of the cooldown is an estimate of ours. An estimate never rejects a request by itself."""
    LEASE_PENDING = "lease_pending"
    """Enough is left for all workers; this worker only needs a lease, which takes a round trip."""
    LOCAL_SHARE = "local_share"
    """Redis is away and this worker's share is used up. A final try may exceed it."""
    CONFIRMED = "confirmed"
    """It is stated by a provider or an operator, or follows from counted usage."""


RANKS = {Certainty.ESTIMATED: 0, Certainty.LEASE_PENDING: 1, Certainty.LOCAL_SHARE: 1, Certainty.CONFIRMED: 2}


@dataclass(frozen=True, slots=True)
class Blocker:
    """Reason why one candidate cannot take a request now."""

    reason: BlockReason
    until: float
    """The time at which it ends, by the pool's clock; `inf` if waiting does not help."""
    detail: str
    """The name of the limit, or the reason of the failure."""
    certainty: Certainty = Certainty.CONFIRMED
    needed: float = 0.0
    """Amount of the limit that the request needs."""
    available: float = 0.0
    """Amount of the limit that is available."""

    @property
    def may_end_any_time(self) -> bool:
        """Whether it ends when a request ends, whatever `until` says."""
        return self.reason is BlockReason.CONCURRENCY

    @property
    def may_be_exceeded(self) -> bool:
        """Whether a request whose queue timeout is over may ignore this blocker."""
        return self.certainty is Certainty.LOCAL_SHARE or self.reason is BlockReason.ESTIMATE_PROBE


def more_certain(first: Blocker | None, second: Blocker | None) -> Blocker | None:
    """Return the more certain of two blockers; the one that ends later if they are equally certain."""
    if first is None or second is None:
        return first or second
    ranks = RANKS[first.certainty], RANKS[second.certainty]
    is_second = second.until > first.until if ranks[0] == ranks[1] else ranks[1] > ranks[0]
    return second if is_second else first
