"""How much of a limit is left: what was used of it in its window, what its provider told, and how fast it goes."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.limits import COUNTED

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.model.request import Usage

# A window is counted in so many parts: what is older than the window by less than a part still counts, so that a limit
# is never exceeded, and at most a sixtieth of it is left unused.
PARTS = 60
# Over how long it is watched how fast a limit is used up; a shorter window over its own length.
WATCHED_SECONDS = 300.0
# A reset that is due is not reckoned with to the millisecond.
SOONEST_SECONDS = 1.0
# Sums of fractions are not exact.
EPSILON = 1e-9
_PLACES = {unit: place for place, unit in enumerate(COUNTED)}


class Ownership(Enum):
    """Who decides how much of a limit this worker may use."""

    OWNED = "owned"
    """This worker alone."""
    LEASED = "leased"
    """The coordinator, which leases parts of it."""
    LEASE_PENDING = "lease_pending"
    """The coordinator; enough is left for all workers to lease the amount."""
    LOCAL_SHARE = "local_share"
    """This worker, up to its share, while the coordinator is away."""


class QuotaWindow:
    """One limit of one account. All times are the same clock's, in seconds."""

    __slots__ = (
        "_next_release",
        "_part_seconds",
        "_parts",
        "_provider_left",
        "_provider_since",
        "_provider_until",
        "_rate",
        "_rate_at",
        "_rate_step",
        "_rate_window",
        "_seconds",
        "_used",
        "capacity",
        "limit",
        "usage_index",
    )

    def __init__(self, limit: RateLimit) -> None:
        self.limit = limit
        self.capacity = limit.amount
        self.usage_index = _PLACES.get(limit.unit, 0)
        self._part_seconds = limit.seconds / PARTS
        self._seconds = limit.seconds
        self._rate_window = min(limit.seconds, WATCHED_SECONDS)
        # In less than that, a rate does not fade enough to be reckoned anew.
        self._rate_step = self._rate_window / 100
        self._parts: dict[int, float] = {}
        self._used = 0.0
        self._next_release = math.inf
        """When something is to be forgotten next."""
        self._rate = 0.0
        self._rate_at = -math.inf
        self._provider_left = math.inf
        self._provider_since = self._provider_until = -math.inf

    def amount_of(self, usage: Usage) -> float:
        """Return how much of it a request takes; one that is larger than the whole limit takes all of it."""
        return min(usage[self.usage_index], self.capacity)

    def take(self, now: float, amount: float) -> None:
        """Count something that is being used."""
        if now >= self._next_release:
            self._expire_parts(now)
        parts, part = self._parts, math.floor(now / self._part_seconds)
        if part in parts:
            parts[part] += amount
        else:
            parts[part] = amount
            self._next_release = min(self._next_release, (part + PARTS + 1) * self._part_seconds)
        self._used += amount
        self._provider_left -= amount
        if now - self._rate_at > self._rate_step:
            self._rate = self.rate(now)
            self._rate_at = now
        self._rate += amount / self._rate_window

    def give_back(self, at: float, now: float, amount: float) -> None:
        """Take back what was counted at a moment: it has left the window if that moment has."""
        self._expire_parts(now)
        part = math.floor(at / self._part_seconds)
        if part in self._parts:
            # A provider may have said since that less was used.
            amount = min(amount, self._parts[part])
            self._parts[part] -= amount
            self._used -= amount
        self._provider_left += amount
        self._rate = max(self._rate - amount / self._rate_window, 0.0)

    def apply_reading(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Believe what the provider has said, in answer to a request that began at a moment.

        What is pending was begun since, and may not be in what the provider has counted.
        """
        if began < self._provider_since:
            # Answers overtake each other.
            return
        self._expire_parts(now)
        self._provider_left = max(min(left, self.capacity) - pending, 0.0)
        self._provider_since, self._provider_until = began, now + resets_in
        self._next_release = min(self._next_release, self._provider_until)
        self._drop_oldest(self._used - (self.capacity - self._provider_left))

    def available(self, now: float) -> float:
        """Return how much may be used now."""
        if now >= self._next_release:
            self._expire_parts(now)
        own = self.capacity - self._used
        return min(own, self._provider_left) if now < self._provider_until else own

    def can_take(self, usage: Usage, now: float) -> bool:
        """Return whether a request may be made now."""
        # `left` and `amount` once more, without calls: a choice spends most of its time here and in `pace`.
        if now >= self._next_release:
            self._expire_parts(now)
        whole = self.capacity
        left = whole - self._used
        if now < self._provider_until and self._provider_left < left:
            left = self._provider_left
        amount = usage[self.usage_index]
        return left > 0 and left + EPSILON >= (amount if amount < whole else whole)  # noqa: FURB136

    def available_total(self, now: float) -> float:
        """Return how much is left for all; others may use the same account, and have what may not be used here now."""
        return self.available(now)

    def ownership(self, now: float, amount: float) -> Ownership:
        """Return whose the limit is, and whether `amount` may be leased soon."""
        del now, amount
        return Ownership.OWNED

    def may_exceed(self, now: float, amount: float) -> bool:
        """Return whether a final try may use `amount` beyond a local share."""
        del now, amount
        return False

    def request(self, now: float, amount: float) -> None:
        """Request a lease of `amount`; does nothing where the limit needs no lease."""

    def resets_in(self, now: float) -> float:
        """Return in how many seconds what is used now will no longer count."""
        return max(self._provider_until - now, SOONEST_SECONDS) if now < self._provider_until else self.limit.seconds

    def wait_for(self, now: float, amount: float) -> float:
        """Return in how many seconds so much may be used; infinite if it never may."""
        if amount > self.limit.amount:
            return math.inf
        self._expire_parts(now)
        reset = max(self._provider_until - now, 0.0)
        over = self._used + amount - self.limit.amount
        if reset and over > EPSILON and over <= self._used_before(self._provider_since) + EPSILON:
            # By then the provider will have forgotten enough, whatever is still in our own window.
            return min(reset, self._released_in(now, over)) if self._provider_left >= amount else reset
        return max(self._released_in(now, over), reset if self._provider_left < amount else 0.0)

    def next_release_in(self, now: float) -> float:
        """Return in how many seconds the first of what is used comes back."""
        if now >= self._next_release:
            self._expire_parts(now)
        return self._next_release - now if self._next_release < math.inf else self.limit.seconds

    def rate(self, now: float) -> float:
        """Return how much of it is used in a second, lately."""
        return self._rate * math.exp(-max(now - self._rate_at, 0.0) / self._rate_window)

    def exhausted_in(self, now: float) -> float:
        """Return in how many seconds it will be used up, if things go on as they do; infinite if it resets before."""
        rate = self.rate(now)
        if rate <= 0:
            return math.inf
        found = max(self.available_total(now), 0.0) / rate
        # A rolling window gives back what was used: it runs out only if more than its limit would be used in it.
        steady = now >= self._provider_until and rate * self.limit.seconds <= self.capacity
        return math.inf if steady or found >= self.resets_in(now) else found

    def inherit_usage(self, former: QuotaWindow) -> None:
        """Know what was used while its limit was another amount of the same."""
        self._parts, self._used = dict(former._parts), former._used
        self._rate, self._rate_at = former._rate, former._rate_at
        self._update_next_release()

    def headroom(self, usage: Usage, now: float) -> float:
        """Return how far it is ahead of an even use: the share that is left over the share of time that is left.

        Less where it runs out before its reset as things go now, and where few requests of this size still fit; 0 where
        none does.
        """
        # See `has`.
        if now >= self._next_release:
            self._expire_parts(now)
        whole = self.capacity
        left = whole - self._used
        if now < self._provider_until:
            return self._headroom(min(left, self._provider_left), self.amount_of(usage), now)
        amount = usage[self.usage_index]
        if amount > whole:  # noqa: PLR1730
            amount = whole
        if left <= 0 or left + EPSILON < amount:
            return 0.0
        found = left / whole * left / (left + amount)
        # The rate of now is not higher than that of the last use; what the window bears for ever needs no closer look.
        return found * self._lasting_share(now) if self._rate * self._seconds > whole else found

    def _can_take(self, usage: Usage, now: float) -> bool:
        """Return the same of windows that know otherwise what is left, or what a request takes."""
        left = self.available(now)
        return left > 0 and left + EPSILON >= self.amount_of(usage)

    def _headroom(self, left: float, amount: float, now: float) -> float:
        if left <= 0 or left + EPSILON < amount:
            return 0.0
        resets_in = self.resets_in(now)
        found = left / self.capacity * left / (left + amount)
        if resets_in < self.limit.seconds:
            found *= self.limit.seconds / resets_in
        return found * self._lasting_share(now) if self._rate * resets_in > left else found

    def _lasting_share(self, now: float) -> float:
        """Return for which share of the time until its reset it will last, as things go."""
        return min(self.exhausted_in(now) / self.resets_in(now), 1.0)

    def _released_in(self, now: float, over: float) -> float:
        """Return in how many seconds so much will have left the window."""
        told = 0.0
        for part, used in self._parts.items():
            if over <= EPSILON:
                break
            over -= used
            told = (part + PARTS + 1) * self._part_seconds - now
        return told

    def _used_before(self, moment: float) -> float:
        before = math.floor(moment / self._part_seconds) if moment > -math.inf else -math.inf
        return sum(used for part, used in self._parts.items() if part < before)

    def _expire_parts(self, now: float) -> None:
        if now < self._next_release:
            return
        if self._provider_until <= now and self._provider_since > -math.inf:
            # The provider's window is over, and with it all that was used before it spoke.
            before = self._used_before(self._provider_since)
            self._provider_since = -math.inf
            self._drop_oldest(before)
        oldest = math.floor(now / self._part_seconds) - PARTS
        while self._parts:
            part = next(iter(self._parts))
            if part >= oldest:
                break
            self._used -= self._parts.pop(part)
        self._update_next_release()

    def _drop_oldest(self, amount: float) -> None:
        """Forget so much, the oldest first."""
        while amount > EPSILON and self._parts:
            part = next(iter(self._parts))
            gone = min(self._parts[part], amount)
            self._parts[part] -= gone
            self._used -= gone
            amount -= gone
            if self._parts[part] <= EPSILON:
                del self._parts[part]
        self._update_next_release()

    def _update_next_release(self) -> None:
        known = self._provider_until if self._provider_since > -math.inf else math.inf
        if self._parts:
            self._next_release = min(known, (next(iter(self._parts)) + PARTS + 1) * self._part_seconds)
        else:
            # Sums of fractions do not come back to nothing by themselves.
            self._used, self._next_release = 0.0, known
