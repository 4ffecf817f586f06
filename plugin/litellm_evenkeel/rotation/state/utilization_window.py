"""A subscription's window, of which its provider only tells which share is used: what one request costs is learned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.model.request import Usage

# How much of what a request was thought to cost is believed after the next reading.
MEMORY = 0.8


class UtilizationWindow(QuotaWindow):
    """A window whose whole is 1."""

    __slots__ = ("_each", "_since", "_told")

    def __init__(self, limit: RateLimit) -> None:
        super().__init__(limit)
        self._each = 0.0
        self._since = 0
        self._told = math.nan

    def amount_of(self, usage: Usage) -> float:
        """Return which share a request is thought to take."""
        return self._each * usage.requests

    def take(self, now: float, amount: float) -> None:
        """Count one request more."""
        self._since += 1
        super().take(now, amount)

    def apply_reading(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Believe which share is left, and learn from it what a request costs."""
        used = self._told - left
        if self._since and used >= 0:
            each = used / self._since
            self._each = each if not self._each else MEMORY * self._each + (1 - MEMORY) * each
        self._told, self._since = left, 0
        super().apply_reading(began, now, left, resets_in, pending)

    def can_take(self, usage: Usage, now: float) -> bool:
        """Return whether a request may be made now, by what it is thought to cost."""
        return self._can_take(usage, now)

    def headroom(self, usage: Usage, now: float) -> float:
        """Return how far it is ahead of an even use, by what a request is thought to cost."""
        return self._headroom(self.available(now), self.amount_of(usage), now)
