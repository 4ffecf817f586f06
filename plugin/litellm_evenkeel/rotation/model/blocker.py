"""What keeps a request from an account, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BlockReason(StrEnum):
    """The kinds of obstacles."""

    QUARANTINED = "quarantined"
    """It has died, and waits for an operator."""
    COOLDOWN = "held"
    """It has refused lately."""
    PROBING = "probing"
    """One request is finding out whether it works again; more would be too many."""
    ESTIMATE_PROBE = "another request finds out first"
    """Only guesses hold all, and to each one request has gone to see."""
    LIMIT = "limit used up"
    CONCURRENCY = "all its requests are under way"
    FAIR_SHARE = "little is left, and others have asked for less"


@dataclass(frozen=True, slots=True)
class Blocker:
    """One obstacle."""

    reason: BlockReason
    until: float
    """Infinite if waiting does not help."""
    detail: str
    """The limit or the reason, by name."""
    is_confirmed: bool = True
    """Whether a provider or an operator said so; a guess of ours never refuses a request by itself."""
    is_local_share: bool = False
    """Whether only this worker's part of a limit is used up, and nobody knows of the others': it is exceeded rather
    than a request refused."""
    is_lease_pending: bool = False
    """Whether it is left for all, and only has to be granted to this worker: that takes a moment."""
    needed: float = 0.0
    available: float = 0.0

    @property
    def may_open(self) -> bool:
        """Whether it may open any moment, whatever `opens_at` reckons with."""
        return self.reason is BlockReason.CONCURRENCY

    @property
    def may_be_exceeded(self) -> bool:
        """Whether a request that has waited goes beyond it, rather than be refused."""
        return self.is_local_share or self.reason is BlockReason.ESTIMATE_PROBE

    @property
    def certainty(self) -> int:
        """Return how much it says, beside another obstacle."""
        return self.is_confirmed + (self.is_confirmed and not self.is_local_share and not self.is_lease_pending)


def more_certain(one: Blocker | None, other: Blocker | None) -> Blocker | None:
    """Return the one of two obstacles that counts: the surer, and of equals the first."""
    if one is None or (other is not None and other.certainty > one.certainty):
        return other
    return one
