"""A subscription's window, of which its provider only tells which share is used: what one request costs is learned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.windows import Window

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limits import Limit
    from litellm_evenkeel.rotation.need import Need

# How much of what a request was thought to cost is believed after the next reading.
MEMORY = 0.8


class ShareWindow(Window):
    """A window whose whole is 1."""

    __slots__ = ("_each", "_since", "_told")

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit)
        self._each = 0.0
        self._since = 0
        self._told = math.nan

    def amount(self, need: Need) -> float:
        """Return which share a request is thought to take."""
        return self._each * need.requests

    def take(self, now: float, amount: float) -> None:
        """Count one request more."""
        self._since += 1
        super().take(now, amount)

    def learn(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Believe which share is left, and learn from it what a request costs."""
        used = self._told - left
        if self._since and used >= 0:
            each = used / self._since
            self._each = each if not self._each else MEMORY * self._each + (1 - MEMORY) * each
        self._told, self._since = left, 0
        super().learn(began, now, left, resets_in, pending)

    def has(self, need: Need, now: float) -> bool:
        """Return whether a request may be made now, by what it is thought to cost."""
        return self._has(need, now)

    def pace(self, need: Need, now: float) -> float:
        """Return how far it is ahead of an even use, by what a request is thought to cost."""
        return self._even(self.left(now), self.amount(need), now)
