"""What a worker asks of the store that all share, and what it answers. All moments are the store's clock's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SharingCounts:
    """All numbers are since the start."""

    is_connected: bool
    """Whether the server answers."""
    is_local: bool
    """Whether this worker goes on with its part of the limits: it does, too, for a moment after the server is back."""
    age: float
    """Seconds since the server has answered last; infinite if it never has."""
    workers: int
    """How many were alive when it did."""
    outages: int
    errors: Mapping[str, int]
    """Failed questions, by the kind of error."""
    exchanges: int
    published: int
    """Holds told to others."""
    received: int
    """Holds that others told."""
    damaged: int
    """Words that nobody could understand."""
    is_listening: bool


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
    """How a worker shares limits now."""

    @property
    def mode(self) -> SharingMode:
        """How things are now."""

    @property
    def workers(self) -> int:
        """How many there are."""

    @property
    def clock_offset(self) -> ClockOffset | None:
        """None if the store has never answered."""


# So many parts more than its own are counted of a window: a grant is good for its part and the next one.
LEASE_PARTS = 2


@dataclass(frozen=True, slots=True)
class LeaseReturn:
    """What was granted and not used: in the first of these parts, as far as it was there, else in the next."""

    first: int
    last: int
    amount: float


@dataclass(frozen=True, slots=True)
class UnleasedUsage:
    """What was used without a grant."""

    part: int
    amount: float


@dataclass(frozen=True, slots=True)
class ProviderReport:
    """What the provider has said, in answer to a request that began at a moment."""

    left: float
    began: float
    resets_in: float


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """What is wanted of one limit."""

    name: str
    limit: float
    part_seconds: float
    """Seconds of one of its parts."""
    parts: int
    is_integral: bool
    """Whether fractions are of no use."""
    needed: float
    """Of which less is of no use."""
    prefetch: float
    """Welcome beyond it, if there is plenty."""
    returns: tuple[LeaseReturn, ...] = ()
    unleased: tuple[UnleasedUsage, ...] = ()
    provider_report: ProviderReport | None = None


@dataclass(frozen=True, slots=True)
class SlotsRequest:
    """How many requests a worker has under way at once, and how many it would like to."""

    limit: int
    in_flight: int
    wanted: int
    is_waiting: bool
    """Whether somebody waits for one."""


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """All that is asked of one account, or of one model at it."""

    key: str
    retention: float
    """For how many seconds it is to be remembered."""
    windows: tuple[WindowRequest, ...]
    slots: SlotsRequest | None


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """One question, and a sign of life."""

    worker: str
    epoch: str
    """Of the store as it was known; empty if it never was."""
    new_epoch: str
    """To be the name of a store that has none yet."""
    gone_seconds: float
    fresh_seconds: float
    """Who was heard of within so many seconds has the store."""
    grace_period: float
    rejoins: bool
    """Whether this worker has gone on alone."""
    leaves: bool
    scopes: tuple[ScopeRequest, ...]


@dataclass(frozen=True, slots=True)
class WindowGrant:
    """What one has of a limit."""

    part: int
    granted: float
    left: float
    """For anybody."""
    available_in: float
    """Seconds until there is as much as was wanted, if nobody else takes it; 0 if it was granted."""


@dataclass(frozen=True, slots=True)
class SlotsGrant:
    """How many may be under way here."""

    granted: int
    is_contended: bool
    """Whether others lack some."""


@dataclass(frozen=True, slots=True)
class ScopeGrant:
    """In the order in which it was asked."""

    windows: tuple[WindowGrant, ...]
    slots: SlotsGrant | None


@dataclass(frozen=True, slots=True)
class LeaseResponse:
    """What the store says."""

    now: float
    epoch: str
    grants_at: float
    """From when on it grants."""
    workers: int
    """How many were heard of lately."""
    scopes: tuple[ScopeGrant, ...]
    """Empty if the store is not the one that the worker knew."""


class LeaseStore(Protocol):
    """Where it is counted."""

    async def exchange(self, call: LeaseRequest) -> LeaseResponse:
        """Ask, all at once."""

    async def drop(self) -> None:
        """Let go of connections that do not answer."""

    async def close(self) -> None:
        """Let go of the server."""
