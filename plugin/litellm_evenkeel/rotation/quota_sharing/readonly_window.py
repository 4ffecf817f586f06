"""A shared limit as it looks to somebody who wants nothing of it: what is left for all counts, nothing is asked for."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.state.quota_window import EPSILON, QuotaWindow

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import Usage


class ReadOnlyWindow(QuotaWindow):
    """One look at one window. It is never used up, and nothing is learned of it."""

    __slots__ = ("_less", "_seen")

    def __init__(self, seen: QuotaWindow) -> None:
        super().__init__(seen.limit)
        self._seen = seen
        self._less = 0.0

    def available(self, now: float) -> float:
        """Return how much is left for all, as far as is known here."""
        return min(self._seen.available_total(now) + self._less, self.capacity)

    @property
    def is_local(self) -> bool:
        """Whether nothing is heard of the other workers."""
        return self._seen.is_local

    def is_local_share(self, now: float, amount: float) -> bool:
        """Return whether only our part of a rate is used up."""
        return self._seen.is_local_share(now, amount)

    def resets_in(self, now: float) -> float:
        """Return in how many seconds what is used now will no longer count."""
        return self._seen.resets_in(now)

    def wait_for(self, now: float, amount: float) -> float:
        """Return in how many seconds there may be so much for all."""
        left = self.available(now)
        return 0.0 if left > 0 and amount <= left + EPSILON else self._seen.wait_for_total(now, amount)

    def next_release_in(self, now: float) -> float:
        """Return in how many seconds the first of what is used comes back."""
        return self._seen.next_release_in(now)

    def rate(self, now: float) -> float:
        """Return how much of it is used in a second, lately."""
        return self._seen.rate(now)

    def exhausted_in(self, now: float) -> float:
        """Return in how many seconds it will be used up; what is tried out here changes nothing of that."""
        return self._seen.exhausted_in(now)

    def can_take(self, usage: Usage, now: float) -> bool:
        """Return whether a request could be made, by what is left for all."""
        return self._can_take(usage, now)

    def headroom(self, usage: Usage, now: float) -> float:
        """Return how far it is ahead of an even use."""
        return self._headroom(self.available(now), self.amount_of(usage), now)

    def _headroom(self, left: float, amount: float, now: float) -> float:
        self._rate = self.rate(now)
        return super()._headroom(left, amount, now)

    def with_less_used(self, amount: float) -> QuotaWindow:
        """Return it as it would be if so much less had been used, to try things with."""
        found = copy(self)
        found._less += amount  # noqa: SLF001 - one of its own kind
        return found
