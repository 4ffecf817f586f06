"""How a worker stands to the store: together with the others, or alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.shared.desk import Desk

# Who lacks a grant is told to come again so soon: asking for it takes a round trip.
BRIEF = 0.05
# So long nothing is used, and what was granted goes back.
IDLE = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Never changed, only replaced."""

    is_local: bool
    workers: int
    """Among how many the limits are divided while each is alone."""
    epoch: str = ""
    """Of the store; empty if none was ever seen."""
    ends: float = float("inf")
    """When it is known to end."""


@dataclass(frozen=True, slots=True)
class Times:
    """By how many seconds the store's clock is before ours: at least, and at most."""

    low: float
    high: float


class Ground(Protocol):
    """What windows and slots need of whoever asks for them."""

    @property
    def standing(self) -> Standing:
        """How things are now."""

    @property
    def workers(self) -> int:
        """How many there are."""

    @property
    def times(self) -> Times | None:
        """None if the store has never answered."""

    def lacks(self, desk: Desk) -> bool:
        """Ask for it at once, as somebody waits; return whether it is asked for."""

    def wishes(self, desk: Desk) -> None:
        """Ask for it some time soon."""
