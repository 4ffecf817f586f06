"""What comes of asking for an account: one, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.bars import Bar
    from litellm_evenkeel.rotation.lease import Lease
    from litellm_evenkeel.rotation.place import Place


class Reason(StrEnum):
    """Why it was this one."""

    STRATEGY = "strategy"
    STICKY = "sticky"
    PROBE = "probe"
    """To find out whether it works again."""
    RAMP = "ramp"
    """It is on its way back to full traffic, and no other was free."""
    SOONEST = "soonest"
    """All are held, by guesses of ours; this one's hold ends first."""
    AGAIN = "again"
    """The request has failed here, and there is no other."""


class Pick(NamedTuple):
    """The one that was chosen."""

    place: Place
    position: int
    """Where it stands among the candidates."""
    lease: Lease
    reason: Reason


@dataclass(frozen=True, slots=True)
class Full:
    """There is none now."""

    opens_in: float
    """Seconds until there may be one; infinite if waiting does not help."""
    bar: Bar | None
    """What stands before the one that opens first; None where there are no candidates."""
