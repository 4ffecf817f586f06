"""A shared limit as it looks to somebody who wants nothing of it: what is left for all counts, nothing is asked for."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.windows import HAIR, Window

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.need import Need


class Glance(Window):
    """One look at one window. It is never used up, and nothing is learned of it."""

    __slots__ = ("_less", "_seen")

    def __init__(self, seen: Window) -> None:
        super().__init__(seen.limit)
        self._seen = seen
        self._less = 0.0

    def left(self, now: float) -> float:
        """Return how much is left for all, as far as is known here."""
        return min(self._seen.remains(now) + self._less, self.whole)

    @property
    def is_alone(self) -> bool:
        """Whether nothing is heard of the other workers."""
        return self._seen.is_alone

    def is_part(self, now: float, amount: float) -> bool:
        """Return whether only our part of a rate is used up."""
        return self._seen.is_part(now, amount)

    def resets_in(self, now: float) -> float:
        """Return in how many seconds what is used now will no longer count."""
        return self._seen.resets_in(now)

    def fits_in(self, now: float, amount: float) -> float:
        """Return in how many seconds there may be so much for all."""
        left = self.left(now)
        return 0.0 if left > 0 and amount <= left + HAIR else self._seen.comes_in(now, amount)

    def returns_in(self, now: float) -> float:
        """Return in how many seconds the first of what is used comes back."""
        return self._seen.returns_in(now)

    def rate(self, now: float) -> float:
        """Return how much of it is used in a second, lately."""
        return self._seen.rate(now)

    def runs_out_in(self, now: float) -> float:
        """Return in how many seconds it will be used up; what is tried out here changes nothing of that."""
        return self._seen.runs_out_in(now)

    def has(self, need: Need, now: float) -> bool:
        """Return whether a request could be made, by what is left for all."""
        return self._has(need, now)

    def pace(self, need: Need, now: float) -> float:
        """Return how far it is ahead of an even use."""
        return self._even(self.left(now), self.amount(need), now)

    def _even(self, left: float, amount: float, now: float) -> float:
        self._rate = self.rate(now)
        return super()._even(left, amount, now)

    def with_less_used(self, amount: float) -> Window:
        """Return it as it would be if so much less had been used, to try things with."""
        found = copy(self)
        found._less += amount  # noqa: SLF001 - one of its own kind
        return found
