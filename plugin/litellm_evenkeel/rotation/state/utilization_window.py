"""Quota window of a subscription: the provider states only the used share, so the cost of a request is learned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.model.request import Usage

# Weight of the previous estimate of the cost after each reading.
PREVIOUS_WEIGHT = 0.8


class UtilizationWindow(QuotaWindow):
    """Quota window whose limit is 1: amounts are shares of the limit."""

    __slots__ = ("_last_left", "_request_cost", "_requests_since")

    def __init__(self, limit: RateLimit) -> None:
        super().__init__(limit)
        self._request_cost = 0.0
        """Estimated share that one request takes; 0 until it is learned."""
        self._requests_since = 0
        """Number of requests since the last reading."""
        self._last_left = math.nan
        """Share left at the last reading; NaN before the first."""

    def amount_of(self, usage: Usage) -> float:
        """Return the share that a request is estimated to take."""
        return self._request_cost * usage.requests

    def take(self, now: float, amount: float) -> None:
        """Count one more request."""
        self._requests_since += 1
        super().take(now, amount)

    def apply_reading(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Apply a reading of the share that is left, and update the estimated cost of a request."""
        used = self._last_left - left
        if self._requests_since and used >= 0:
            cost, previous = used / self._requests_since, self._request_cost
            self._request_cost = cost if not previous else PREVIOUS_WEIGHT * previous + (1 - PREVIOUS_WEIGHT) * cost
        self._last_left, self._requests_since = left, 0
        super().apply_reading(began, now, left, resets_in, pending)

    can_take = QuotaWindow.fits

    def headroom(self, usage: Usage, now: float) -> float:
        """Return the headroom, by the estimated cost of a request."""
        return self._headroom(self.available(now), self.amount_of(usage), now)
