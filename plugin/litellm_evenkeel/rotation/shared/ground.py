"""How a worker stands to the store: together with the others, or alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.shared.desk import AccountLeases

# Who lacks a grant is told to come again so soon: asking for it takes a round trip.
ROUND_TRIP_SECONDS = 0.05
# So long nothing is used, and what was granted goes back.
IDLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SharingMode:
    """Never changed, only replaced."""

    is_local: bool
    workers: int
    """Among how many the limits are divided while each is alone."""
    epoch: str = ""
    """Of the store; empty if none was ever seen."""
    until: float = float("inf")
    """When it is known to end."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """By how many seconds the store's clock is before ours: at least, and at most."""

    low: float
    high: float


class SharingContext(Protocol):
    """What windows and slots need of whoever asks for them."""

    @property
    def mode(self) -> SharingMode:
        """How things are now."""

    @property
    def workers(self) -> int:
        """How many there are."""

    @property
    def clock_offset(self) -> ClockOffset | None:
        """None if the store has never answered."""

    def request_now(self, leases: AccountLeases) -> bool:
        """Ask for it at once, as somebody waits; return whether it is asked for."""

    def request_soon(self, leases: AccountLeases) -> None:
        """Ask for it some time soon."""
