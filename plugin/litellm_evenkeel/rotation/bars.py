"""What keeps a request from an account, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """The kinds of obstacles."""

    QUARANTINED = "quarantined"
    """It has died, and waits for an operator."""
    HELD = "held"
    """It has refused lately."""
    PROBING = "probing"
    """One request is finding out whether it works again; more would be too many."""
    TRIAL = "another request finds out first"
    """Only guesses hold all, and to each one request has gone to see."""
    WINDOW = "limit used up"
    CONCURRENT = "all its requests are under way"
    SHARED = "little is left, and others have asked for less"


@dataclass(frozen=True, slots=True)
class Bar:
    """One obstacle."""

    why: Why
    opens_at: float
    """Infinite if waiting does not help."""
    what: str
    """The limit or the reason, by name."""
    is_sure: bool = True
    """Whether a provider or an operator said so; a guess of ours never refuses a request by itself."""
    is_part: bool = False
    """Whether only this worker's part of a limit is used up, and nobody knows of the others': it is exceeded rather
    than a request refused."""
    is_coming: bool = False
    """Whether it is left for all, and only has to be granted to this worker: that takes a moment."""
    wanted: float = 0.0
    left: float = 0.0

    @property
    def may_open(self) -> bool:
        """Whether it may open any moment, whatever `opens_at` reckons with."""
        return self.why is Why.CONCURRENT

    @property
    def yields(self) -> bool:
        """Whether a request that has waited goes beyond it, rather than be refused."""
        return self.is_part or self.why is Why.TRIAL

    @property
    def weight(self) -> int:
        """Return how much it says, beside another obstacle."""
        return self.is_sure + (self.is_sure and not self.is_part and not self.is_coming)


def graver(one: Bar | None, other: Bar | None) -> Bar | None:
    """Return the one of two obstacles that counts: the surer, and of equals the first."""
    if one is None or (other is not None and other.weight > one.weight):
        return other
    return one
