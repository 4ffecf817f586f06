"""Open reservations: estimated usage that counts against limits until the actual usage is known."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.state.deployment_state import Reservation

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.model.request import PickRequest, Usage
    from litellm_evenkeel.rotation.state.account_scope import AccountScope
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class ReservationLedger:
    """All open reservations, in the order in which they expire."""

    def __init__(self, clock: Callable[[], float], on_capacity_freed: Callable[[AccountScope], None]) -> None:
        self._clock, self._on_capacity_freed = clock, on_capacity_freed
        # The oldest is first. An `OrderedDict` finds it at once; a `dict` would search past all removed entries.
        self._open: OrderedDict[Reservation, None] = OrderedDict()

    def open(self, deployment: DeploymentState, request: PickRequest, now: float, expires_at: float) -> Reservation:
        """Reserve the usage of a request at its account and its model."""
        deployment.account.reserve(request.usage, now)
        deployment.model.reserve(request.usage, now)
        reservation = Reservation(deployment, request.usage, now, expires_at, request.client, request.is_stream)
        self._open[reservation] = deployment.reservations[reservation] = None
        return reservation

    def close(self, reservation: Reservation, used: Usage) -> bool:
        """End a reservation with the usage that counts from now on. Return whether it was still open."""
        if not reservation.is_open:
            return False
        reservation.is_open = False
        self._open.pop(reservation, None)
        deployment = reservation.deployment
        deployment.reservations.pop(reservation, None)
        now = self._clock()
        for scope in (deployment.account, deployment.model):
            freed_count = scope.freed_count
            scope.settle(reservation.usage, used, reservation.started_at, now)
            if scope.freed_count != freed_count:
                self._on_capacity_freed(scope)
        return True

    def close_or_amend(self, reservation: Reservation, used: Usage) -> bool:
        """End a reservation, or replace the usage that was counted when it expired. Return false if neither applies."""
        if self.close(reservation, used):
            return True
        counted, reservation.counted_after_expiry = reservation.counted_after_expiry, None
        if counted is None:
            return False
        now = self._clock()
        for scope in (reservation.deployment.account, reservation.deployment.model):
            scope.amend(counted, used, reservation.started_at, now)
        return True

    def first_expired(self, now: float) -> Reservation | None:
        """Return the oldest reservation if it has expired, else `None`."""
        first = next(iter(self._open), None)
        return first if first is not None and first.expires_at <= now else None

    def expire_before(self, latest: float) -> None:
        """Shorten all reservations so that none expires after `latest`."""
        for reservation in self._open:
            reservation.expires_at = min(reservation.expires_at, latest)
