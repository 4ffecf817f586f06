"""Messages between a worker and the store that all workers share. All times in them are the store's clock's.

Requests are tuples, and the lease script reads their fields in the order of this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SharingCounts:
    """State and counters of one worker's coordinator. Counters run since the start of the worker."""

    is_connected: bool
    """Whether the store answers."""
    is_local: bool
    """Whether this worker uses its local share of the limits. It still does for a moment after the store is back."""
    age: float
    """Seconds since the store's last answer; `inf` without one."""
    workers: int
    """Live workers, as of the store's last answer."""
    outages: int
    errors: Mapping[str, int]
    """Failed calls to the store, by the name of the exception's class."""
    exchanges: int
    published: int
    """Cooldown updates sent to other workers."""
    received: int
    """Cooldown updates received from other workers."""
    damaged: int
    """Received messages that could not be decoded."""
    is_listening: bool


# How long a request without a lease waits before it tries again: requesting one takes a round trip to the store.
ROUND_TRIP_SECONDS = 0.05
# Leases of a limit that was not used for this long are returned.
IDLE_SECONDS = 1.0
# If this share of the limit is left, a small part of them is kept and renewed for longer: the next request need not
# wait for a lease, and what other workers can use hardly changes.
PLENTY_SHARE, PLENTY_IDLE_SECONDS, IDLE_SHARE = 0.5, 30.0, 0.01


@dataclass(frozen=True, slots=True)
class SharingMode:
    """Mode in which a worker shares limits: leases from the store, or a local share. Replaced, never changed."""

    is_local: bool
    workers: int
    """Number of workers among which limits are divided in local mode."""
    epoch: str = ""
    """The epoch of the store, which changes when the store loses its data; empty if the store never answered."""
    until: float = float("inf")
    """When local mode ends, by this worker's clock; `inf` if unknown."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """Bounds, in seconds, of how far the store's clock is ahead of this worker's."""

    low: float
    high: float


class SharingContext(Protocol):
    """State of the worker that its leased limits depend on."""

    mode: SharingMode
    workers: int
    """Number of live workers."""
    clock_offset: ClockOffset | None
    """`None` if the store never answered."""


# A lease is valid in the part of the window in which it was granted and in the next one. So the store counts a window
# over this many parts more than its own length.
LEASE_PARTS = 2


class LeaseReturn(NamedTuple):
    """An amount that was granted and not used. It is taken off part `first` as far as possible, then off the next."""

    first: int
    last: int
    amount: float


class UnleasedUsage(NamedTuple):
    """Usage without a lease, in one part of the window."""

    part: int
    amount: float


class ProviderReport(NamedTuple):
    """A limit reading from the response to a request that began at `began`."""

    left: float
    began: float
    resets_in: float
    """Seconds."""


class WindowRequest(NamedTuple):
    """Request for a lease of one limit, with what was used and returned since the last request."""

    name: str
    limit: float
    part_seconds: float
    """Length of one part of the window."""
    parts: int
    """Number of parts in the window."""
    is_integral: bool
    """Whether only whole numbers are useful, as for requests."""
    needed: float
    """The smallest amount that is useful."""
    prefetch: float
    """The amount to grant beyond `needed` if enough is left."""
    returns: tuple[LeaseReturn, ...] = ()
    unleased: tuple[UnleasedUsage, ...] = ()
    provider_report: ProviderReport | None = None


class SlotsRequest(NamedTuple):
    """Request for in-flight slots of one scope."""

    limit: int
    held: int
    """Slots that this worker uses, or may use before the answer. The store grants at least as many."""
    wanted: int
    """Slots that this worker would like to hold, those held included."""
    is_waiting: bool
    """Whether a request waits for a slot."""


class ScopeRequest(NamedTuple):
    """All requests for one scope."""

    key: str
    retention: float
    """Seconds for which the store has to keep the scope's data."""
    windows: tuple[WindowRequest, ...]
    slots: SlotsRequest | None


class LeaseRequest(NamedTuple):
    """One exchange with the store; also the worker's heartbeat."""

    worker: str
    epoch: str
    """The epoch of the store, as the worker knows it; empty if unknown."""
    new_epoch: str
    """The epoch for a store that has none yet."""
    gone_seconds: float
    """A worker without a heartbeat for this long is gone, and its slots are free."""
    fresh_seconds: float
    """A worker with a heartbeat within this time is connected to the store."""
    grace_period: float
    """Seconds for which the store grants nothing after an outage, so that workers can report what they used.

    It begins again while workers are missing, until they would be gone.
    """
    workers: int
    """The number of workers, as this one knows it."""
    rejoins: bool
    """Whether this worker was in local mode since its last exchange."""
    leaves: bool
    """Whether this worker stops."""
    scopes: tuple[ScopeRequest, ...]


@dataclass(frozen=True, slots=True)
class WindowGrant:
    """The store's answer for one limit."""

    part: int
    """The part of the window in which the lease was granted."""
    granted: float
    left: float
    """The amount that all workers together may still lease."""
    available_in: float
    """Seconds until the needed amount may be granted, if no other worker takes it; 0 if it was granted."""


@dataclass(frozen=True, slots=True)
class SlotsGrant:
    """The store's answer for the slots of one scope."""

    granted: int
    """Slots that this worker holds now."""
    is_contended: bool
    """Whether another worker waits for a slot."""


@dataclass(frozen=True, slots=True)
class ScopeGrant:
    """The store's answer for one scope, with windows in the order of the request."""

    windows: tuple[WindowGrant, ...]
    slots: SlotsGrant | None


@dataclass(frozen=True, slots=True)
class LeaseResponse:
    """The store's answer to one exchange."""

    now: float
    epoch: str
    grants_at: float
    """When the store grants leases again; in the past unless a grace period runs."""
    workers: int
    """Number of live workers."""
    scopes: tuple[ScopeGrant, ...]
    """Empty if the store's epoch is not the one in the request."""


class LeaseStore(Protocol):
    """Store that counts what all workers use, and grants leases."""

    async def exchange(self, request: LeaseRequest, /) -> LeaseResponse:
        """Send all requests of a worker at once."""

    async def drop(self) -> None:
        """Close connections that do not answer. The store can still be used afterwards."""

    async def close(self) -> None:
        """Close all connections."""
