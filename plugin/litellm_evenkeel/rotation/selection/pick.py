"""What comes of asking for an account: one, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState, Reservation


class PickReason(StrEnum):
    """Why it was this one."""

    STRATEGY = "strategy"
    STICKY = "sticky"
    PROBE = "probe"
    """To find out whether it works again."""
    RAMP_UP = "ramp"
    """It is on its way back to full traffic, and no other was free."""
    EARLIEST_RECOVERY = "soonest"
    """All are held, by guesses of ours; this one's hold ends first."""
    RETRY_SAME = "again"
    """The request has failed here, and there is no other."""


class Pick(NamedTuple):
    """The one that was chosen."""

    deployment: DeploymentState
    position: int
    """Where it stands among the candidates."""
    reservation: Reservation
    reason: PickReason


@dataclass(frozen=True, slots=True)
class NoCapacity:
    """There is none now."""

    available_in: float
    """Seconds until there may be one; infinite if waiting does not help."""
    blocker: Blocker | None
    """What stands before the one that opens first; None where there are no candidates."""
