"""Lease of in-flight slots: the part of a concurrency limit that this worker may use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.quota_sharing.protocol import IDLE_SECONDS, SlotsRequest

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.quota_sharing.protocol import SharingContext, SlotsGrant
    from litellm_evenkeel.rotation.state.account_scope import AccountScope

# A shortage is forgotten after this long: a request that still waits reports it again long before.
SHORTAGE_SECONDS = 2.0
# If another worker has no slot, a worker that has held some for this long keeps an equal part of them at most.
EXCLUSIVE_SECONDS = 0.5
# A worker keeps one spare slot for this many requests in flight.
IN_FLIGHT_PER_SPARE = 4


@dataclass(slots=True, eq=False, repr=False)
class LeasedConcurrency:
    """The slots of one scope that this worker holds."""

    scope: AccountScope
    _context: SharingContext
    _granted: int = 0
    """Slots that this worker holds according to the store."""
    _max_slots: int = 0
    _has_shortage: bool = False
    _has_new_shortage: bool = False
    _is_contended: bool = False
    _used_at: float = -math.inf
    _exhausted_at: float = -math.inf
    _held_since: float = -math.inf

    def __post_init__(self) -> None:
        """Begin without slots, or with the local share."""
        self._max_slots = self.scope.concurrent or 0
        self.scope.leased_slots = 0
        if self._context.mode.is_local:
            self.use_local_share()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to request, to report or to return."""
        if self.scope.concurrent is None:
            return True
        return not (self._granted or self.scope.leased_slots or self.scope.in_flight or self._has_shortage)

    def on_exhausted(self) -> None:
        """Record that a request needs a slot and all are in use."""
        self._has_shortage = self._has_new_shortage = True

    def use_local_share(self) -> None:
        """Use an equal part of the slots, and at least one, so that every worker can continue."""
        if self.scope.concurrent is not None:
            self.scope.leased_slots = max(self.scope.concurrent // self._context.mode.workers, 1)

    def close(self) -> None:
        """Begin no further requests; those in flight keep their slots."""
        if self.scope.concurrent is not None:
            self.scope.leased_slots = min(self.scope.leased_slots or 0, self.scope.in_flight)

    def build_request(self, now: float, *, confirms: bool) -> SlotsRequest | None:
        """Return the request for the store, or `None` if there is none. `confirms`: this exchange is a heartbeat."""
        scope = self.scope
        if scope.concurrent is None:
            return None
        self._update_usage(now)
        if self._context.mode.is_local:
            if not confirms:
                return None
            return SlotsRequest(scope.concurrent, scope.in_flight, scope.in_flight, is_waiting=False)
        yields = self._is_contended and bool(self._granted) and now >= self._held_since + EXCLUSIVE_SECONDS
        self._max_slots = scope.concurrent // self._context.workers if yields else scope.concurrent
        is_idle = now >= self._used_at + IDLE_SECONDS
        spare = 0 if self._is_contended or is_idle else max(scope.in_flight // IN_FLIGHT_PER_SPARE, 1)
        wanted = min(scope.in_flight + max(spare, int(self._has_shortage)), self._max_slots)
        has_too_many = self._granted > scope.in_flight + 2 * spare
        has_too_few = wanted > (scope.leased_slots or 0) and (
            self._has_shortage or (scope.leased_slots or 0) <= scope.in_flight
        )
        if not (self._has_shortage or has_too_many or has_too_few or (confirms and self._granted)):
            return None
        # Before the answer is here, another worker may have the slots that are returned: they must not be used.
        kept = scope.in_flight if self._is_contended else max(wanted, scope.in_flight)
        scope.leased_slots = min(scope.leased_slots or 0, kept, self._max_slots)
        held = max(scope.leased_slots, scope.in_flight)
        return SlotsRequest(scope.concurrent, held, wanted, is_waiting=self._has_shortage)

    def apply_grant(self, grant: SlotsGrant, now: float) -> bool:
        """Apply the store's answer. Return whether a request that was blocked here may try again."""
        scope = self.scope
        if scope.concurrent is None:
            return False
        if grant.granted and not self._granted:
            self._held_since = now
        self._is_contended, self._granted = grant.is_contended, grant.granted
        scope.leased_slots = min(grant.granted, self._max_slots)
        is_unblocked = self._has_shortage and scope.in_flight < scope.leased_slots
        if is_unblocked:
            self._has_shortage = False
        return is_unblocked

    def _update_usage(self, now: float) -> None:
        if self._has_new_shortage:
            self._exhausted_at, self._has_new_shortage = now, False
        elif now >= self._exhausted_at + SHORTAGE_SECONDS:
            self._has_shortage = False
        if self.scope.in_flight or self._has_shortage:
            self._used_at = now
