"""Result of a pick: a deployment and its reservation, or no capacity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.blocker import Certainty

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState, Reservation


class PickReason(StrEnum):
    """Why a deployment was picked."""

    STRATEGY = "strategy"
    """It ranks first."""
    PINNED = "pinned"
    """The session is pinned to its account."""
    PROBE = "probe"
    """Its cooldown is over, and this request tests whether it works again."""
    RAMP_UP = "ramp_up"
    """It is ramping up, and no other candidate is available."""
    EARLIEST_RECOVERY = "earliest_recovery"
    """Estimated cooldowns block all candidates, and its cooldown ends first."""
    RETRY_SAME = "retry_same"
    """The request failed there before, and no other candidate is left."""


@dataclass(slots=True)
class Pick:
    """The picked deployment."""

    deployment: DeploymentState
    position: int
    """Its position in the candidate set."""
    reservation: Reservation
    reason: PickReason


@dataclass(frozen=True, slots=True)
class NoCapacity:
    """No candidate is available now."""

    available_in: float
    """Seconds until one may be available; `inf` if waiting does not help."""
    blocker: Blocker | None
    """The blocker that ends first; `None` if there are no candidates."""

    @property
    def is_lease_pending(self) -> bool:
        """Whether the request lacks only a lease."""
        return self.blocker is not None and self.blocker.certainty is Certainty.LEASE_PENDING
