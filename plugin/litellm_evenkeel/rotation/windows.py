"""How much of a limit is left: what was used of it in its window, what its provider told, and how fast it goes."""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, ClassVar

from litellm_evenkeel.rotation.limits import COUNTED

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limits import Limit
    from litellm_evenkeel.rotation.need import Need

# A window is counted in so many parts: what is older than the window by less than a part still counts, so that a limit
# is never exceeded, and at most a sixtieth of it is left unused.
PARTS = 60
# Over how long it is watched how fast a limit is used up; a shorter window over its own length.
WATCHED_SECONDS = 300.0
# A reset that is due is not reckoned with to the millisecond.
SOONEST_SECONDS = 1.0
# Sums of fractions are not exact.
HAIR = 1e-9
_PLACES = {unit: place for place, unit in enumerate(COUNTED)}


class Window:
    """One limit of one account. All times are the same clock's, in seconds."""

    __slots__ = (
        "_at",
        "_due",
        "_fades",
        "_known_left",
        "_known_since",
        "_known_until",
        "_parts",
        "_rate",
        "_seconds",
        "_used",
        "_watched",
        "_width",
        "limit",
        "place",
        "whole",
    )

    is_lent: ClassVar[bool] = False
    """Whether no more of it may be used here than was granted, however much is left for all."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.whole = limit.amount
        self.place = _PLACES.get(limit.unit, 0)
        self._width = limit.seconds / PARTS
        self._seconds = limit.seconds
        self._watched = min(limit.seconds, WATCHED_SECONDS)
        # In less than that, a rate does not fade enough to be reckoned anew.
        self._fades = self._watched / 100
        self._parts: dict[int, float] = {}
        self._used = 0.0
        self._due = math.inf
        """When something is to be forgotten next."""
        self._rate = 0.0
        self._at = -math.inf
        self._known_left = math.inf
        self._known_since = self._known_until = -math.inf

    def amount(self, need: Need) -> float:
        """Return how much of it a request takes; one that is larger than the whole limit takes all of it."""
        return min(need[self.place], self.whole)

    def take(self, now: float, amount: float) -> None:
        """Count something that is being used."""
        if now >= self._due:
            self._forget(now)
        parts, part = self._parts, math.floor(now / self._width)
        if part in parts:
            parts[part] += amount
        else:
            parts[part] = amount
            self._due = min(self._due, (part + PARTS + 1) * self._width)
        self._used += amount
        self._known_left -= amount
        if now - self._at > self._fades:
            self._rate = self.rate(now)
            self._at = now
        self._rate += amount / self._watched

    def give_back(self, at: float, now: float, amount: float) -> None:
        """Take back what was counted at a moment: it has left the window if that moment has."""
        self._forget(now)
        part = math.floor(at / self._width)
        if part in self._parts:
            # A provider may have said since that less was used.
            amount = min(amount, self._parts[part])
            self._parts[part] -= amount
            self._used -= amount
        self._known_left += amount
        self._rate = max(self._rate - amount / self._watched, 0.0)

    def learn(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Believe what the provider has said, in answer to a request that began at a moment.

        What is pending was begun since, and may not be in what the provider has counted.
        """
        if began < self._known_since:
            # Answers overtake each other.
            return
        self._forget(now)
        self._known_left = max(min(left, self.whole) - pending, 0.0)
        self._known_since, self._known_until = began, now + resets_in
        self._due = min(self._due, self._known_until)
        self._drop(self._used - (self.whole - self._known_left))

    def left(self, now: float) -> float:
        """Return how much may be used now."""
        if now >= self._due:
            self._forget(now)
        own = self.whole - self._used
        return min(own, self._known_left) if now < self._known_until else own

    def has(self, need: Need, now: float) -> bool:
        """Return whether a request may be made now."""
        # `left` and `amount` once more, without calls: a choice spends most of its time here and in `pace`.
        if now >= self._due:
            self._forget(now)
        whole = self.whole
        left = whole - self._used
        if now < self._known_until and self._known_left < left:
            left = self._known_left
        amount = need[self.place]
        return left > 0 and left + HAIR >= (amount if amount < whole else whole)  # noqa: FURB136

    def remains(self, now: float) -> float:
        """Return how much is left for all; others may use the same account, and have what may not be used here now."""
        return self.left(now)

    @property
    def is_alone(self) -> bool:
        """Whether others use the same limit, and nothing is heard of them."""
        return False

    def is_part(self, now: float, amount: float) -> bool:
        """Return whether `left` tells of a part only, and the whole may have so much."""
        del now, amount
        return False

    def is_coming(self, now: float, amount: float) -> bool:
        """Return whether so much is left for all, and was asked for here."""
        del now, amount
        return False

    def resets_in(self, now: float) -> float:
        """Return in how many seconds what is used now will no longer count."""
        return max(self._known_until - now, SOONEST_SECONDS) if now < self._known_until else self.limit.seconds

    def fits_in(self, now: float, amount: float) -> float:
        """Return in how many seconds so much may be used; infinite if it never may."""
        if amount > self.limit.amount:
            return math.inf
        self._forget(now)
        reset = max(self._known_until - now, 0.0)
        over = self._used + amount - self.limit.amount
        if reset and over > HAIR and over <= self._before(self._known_since) + HAIR:
            # By then the provider will have forgotten enough, whatever is still in our own window.
            return min(reset, self._rolls_in(now, over)) if self._known_left >= amount else reset
        return max(self._rolls_in(now, over), reset if self._known_left < amount else 0.0)

    def returns_in(self, now: float) -> float:
        """Return in how many seconds the first of what is used comes back."""
        if now >= self._due:
            self._forget(now)
        return self._due - now if self._due < math.inf else self.limit.seconds

    def comes_in(self, now: float, amount: float) -> float:
        """Return in how many seconds so much may remain; whoever asks this wants nothing yet."""
        return self.fits_in(now, amount)

    def rate(self, now: float) -> float:
        """Return how much of it is used in a second, lately."""
        return self._rate * math.exp(-max(now - self._at, 0.0) / self._watched)

    def runs_out_in(self, now: float) -> float:
        """Return in how many seconds it will be used up, if things go on as they do; infinite if it resets before."""
        rate = self.rate(now)
        if rate <= 0:
            return math.inf
        found = max(self.remains(now), 0.0) / rate
        # A rolling window gives back what was used: it runs out only if more than its limit would be used in it.
        steady = now >= self._known_until and rate * self.limit.seconds <= self.whole
        return math.inf if steady or found >= self.resets_in(now) else found

    def replaces(self, former: Window) -> None:
        """Know what was used while its limit was another amount of the same."""
        self._parts, self._used = dict(former._parts), former._used
        self._rate, self._at = former._rate, former._at
        self._settle_due()

    def glance(self) -> Window:
        """Return it as it is looked at by somebody who wants nothing of it."""
        return self

    def with_less_used(self, amount: float) -> Window:
        """Return it as it would be if so much less had been used, to try things with."""
        found = copy(self)
        changed = {
            "_parts": dict(self._parts),
            "_used": max(self._used - amount, 0.0),
            "_known_left": min(self._known_left + amount, self.whole),
        }
        for name, value in changed.items():
            setattr(found, name, value)
        return found

    def pace(self, need: Need, now: float) -> float:
        """Return how far it is ahead of an even use: the share that is left over the share of time that is left.

        Less where it runs out before its reset as things go now, and where few requests of this size still fit; 0 where
        none does.
        """
        # See `has`.
        if now >= self._due:
            self._forget(now)
        whole = self.whole
        left = whole - self._used
        if now < self._known_until:
            return self._even(min(left, self._known_left), self.amount(need), now)
        amount = need[self.place]
        if amount > whole:  # noqa: PLR1730
            amount = whole
        if left <= 0 or left + HAIR < amount:
            return 0.0
        found = left / whole * left / (left + amount)
        # The rate of now is not higher than that of the last use; what the window bears for ever needs no closer look.
        return found * self._lasting(now) if self._rate * self._seconds > whole else found

    def _has(self, need: Need, now: float) -> bool:
        """Return the same of windows that know otherwise what is left, or what a request takes."""
        left = self.left(now)
        return left > 0 and left + HAIR >= self.amount(need)

    def _even(self, left: float, amount: float, now: float) -> float:
        if left <= 0 or left + HAIR < amount:
            return 0.0
        resets_in = self.resets_in(now)
        found = left / self.whole * left / (left + amount)
        if resets_in < self.limit.seconds:
            found *= self.limit.seconds / resets_in
        return found * self._lasting(now) if self._rate * resets_in > left else found

    def _lasting(self, now: float) -> float:
        """Return for which share of the time until its reset it will last, as things go."""
        return min(self.runs_out_in(now) / self.resets_in(now), 1.0)

    def _rolls_in(self, now: float, over: float) -> float:
        """Return in how many seconds so much will have left the window."""
        told = 0.0
        for part, used in self._parts.items():
            if over <= HAIR:
                break
            over -= used
            told = (part + PARTS + 1) * self._width - now
        return told

    def _before(self, moment: float) -> float:
        before = math.floor(moment / self._width) if moment > -math.inf else -math.inf
        return sum(used for part, used in self._parts.items() if part < before)

    def _forget(self, now: float) -> None:
        if now < self._due:
            return
        if self._known_until <= now and self._known_since > -math.inf:
            # The provider's window is over, and with it all that was used before it spoke.
            before = self._before(self._known_since)
            self._known_since = -math.inf
            self._drop(before)
        oldest = math.floor(now / self._width) - PARTS
        while self._parts:
            part = next(iter(self._parts))
            if part >= oldest:
                break
            self._used -= self._parts.pop(part)
        self._settle_due()

    def _drop(self, amount: float) -> None:
        """Forget so much, the oldest first."""
        while amount > HAIR and self._parts:
            part = next(iter(self._parts))
            gone = min(self._parts[part], amount)
            self._parts[part] -= gone
            self._used -= gone
            amount -= gone
            if self._parts[part] <= HAIR:
                del self._parts[part]
        self._settle_due()

    def _settle_due(self) -> None:
        known = self._known_until if self._known_since > -math.inf else math.inf
        if self._parts:
            self._due = min(known, (next(iter(self._parts)) + PARTS + 1) * self._width)
        else:
            # Sums of fractions do not come back to nothing by themselves.
            self._used, self._due = 0.0, known
