"""Quota window: the usage counted against one limit, what the provider states, and the rate of use."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from litellm_evenkeel.rotation.model.blocker import Certainty
from litellm_evenkeel.rotation.model.limits import COUNTED

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.model.request import Usage

# Usage is counted in this many parts of a window. Usage older than the window by less than a part still counts, so that
# a limit is never exceeded, and at most a sixtieth of it is left unused.
PARTS = 60
# Time over which the rate of use is averaged, at most the length of the window.
RATE_SECONDS = 300.0
# Lower bound for the time until a reset: a provider's reset is not exact, and headroom divides by it.
MIN_RESET_SECONDS = 1.0
# Tolerance for amounts: sums of fractions are not exact.
EPSILON = 1e-9
_USAGE_INDEX = {unit: index for index, unit in enumerate(COUNTED)}


@dataclass(slots=True, eq=False, repr=False)
class QuotaWindow:
    """Usage counted against one limit of one scope. All times are by the pool's clock, in seconds."""

    is_leased: ClassVar[bool] = False
    """Whether this worker may use only what it has leased."""
    limit: RateLimit
    capacity: float = field(init=False)
    usage_index: int = field(init=False)
    """Position of the limit's unit in `Usage`."""
    _part_seconds: float = field(init=False)
    _seconds: float = field(init=False)
    _rate_window: float = field(init=False)
    _rate_step: float = field(init=False)
    """In less time than this, the rate decays too little to be worth an update."""
    _parts: dict[int, float] = field(default_factory=dict)
    """Usage by the number of the part, the oldest first."""
    _used: float = 0.0
    _next_release: float = math.inf
    """Time at which counted usage expires next; `inf` if there is none."""
    _rate: float = 0.0
    _rate_at: float = -math.inf
    _provider_left: float = math.inf
    """Amount left as the provider stated it, less the usage since; valid until `_provider_until`."""
    _provider_since: float = -math.inf
    _provider_until: float = -math.inf

    def __post_init__(self) -> None:
        """Store what picks need of the limit."""
        self.capacity, self.usage_index = self.limit.amount, _USAGE_INDEX.get(self.limit.unit, 0)
        self._seconds, self._part_seconds = self.limit.seconds, self.limit.seconds / PARTS
        self._rate_window = min(self.limit.seconds, RATE_SECONDS)
        self._rate_step = self._rate_window / 100

    def amount_of(self, usage: Usage) -> float:
        """Return the amount that a request of size `usage` takes, at most the whole limit."""
        return min(usage[self.usage_index], self.capacity)

    def take(self, now: float, amount: float) -> None:
        """Count `amount` as used."""
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
        """Subtract `amount` that was counted at the time `at`. It no longer counts if the window has passed since."""
        self._expire_parts(now)
        part = math.floor(at / self._part_seconds)
        if part in self._parts:
            # A limit reading since then may have lowered the usage.
            amount = min(amount, self._parts[part])
            self._parts[part] -= amount
            self._used -= amount
        self._provider_left += amount
        self._rate = max(self._rate - amount / self._rate_window, 0.0)

    def apply_reading(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Apply a limit reading in the response to a request that began at `began`.

        `left` is the amount left, until a reset in `resets_in` seconds. `pending` is the amount reserved by requests
        that began later: the provider may not have counted it yet.
        """
        if began < self._provider_since:
            # Responses may arrive in another order than their requests were sent.
            return
        self._expire_parts(now)
        self._provider_left = max(min(left, self.capacity) - pending, 0.0)
        self._provider_since, self._provider_until = began, now + resets_in
        self._next_release = min(self._next_release, self._provider_until)
        self._drop_oldest(self._used - (self.capacity - self._provider_left))

    def forget_reading(self, now: float) -> None:
        """Forget what the provider stated last. The usage that was counted here still counts."""
        self._expire_parts(now)
        self._provider_left, self._provider_since, self._provider_until = math.inf, -math.inf, -math.inf
        self._update_next_release()

    def forget_shared_reading(self, now: float) -> None:
        """Make the store of shared limits forget what the provider stated; does nothing where there is none."""

    def available(self, now: float) -> float:
        """Return the amount that may be used now."""
        if now >= self._next_release:
            self._expire_parts(now)
        own = self.capacity - self._used
        return min(own, self._provider_left) if now < self._provider_until else own

    def can_take(self, usage: Usage, now: float) -> bool:
        """Return whether a request may be made now."""
        # `available` and `amount_of` are repeated without calls: a pick spends most of its time here and in `headroom`.
        if now >= self._next_release:
            self._expire_parts(now)
        capacity = self.capacity
        left = capacity - self._used
        if now < self._provider_until and self._provider_left < left:
            left = self._provider_left
        amount = usage[self.usage_index]
        return left > 0 and left + EPSILON >= (amount if amount < capacity else capacity)  # noqa: FURB136

    def available_total(self, now: float) -> float:
        """Return the amount that is left for all workers, including what others have leased."""
        return self.available(now)

    @property
    def is_local(self) -> bool:
        """Whether this worker may use only its local share, because Redis is away."""
        return False

    def certainty(self, now: float, amount: float) -> Certainty:
        """Return how certain it is that `amount` is not available."""
        del now, amount
        return Certainty.CONFIRMED

    def request(self, now: float, amount: float) -> None:
        """Request a lease of `amount`; does nothing where the limit needs no lease."""

    def resets_in(self, now: float) -> float:
        """Return the seconds until usage of now no longer counts."""
        return max(self._provider_until - now, MIN_RESET_SECONDS) if now < self._provider_until else self.limit.seconds

    def wait_for(self, now: float, amount: float) -> float:
        """Return the seconds until `amount` is available, or `inf` if it exceeds the limit."""
        if amount > self.limit.amount:
            return math.inf
        self._expire_parts(now)
        reset = max(self._provider_until - now, 0.0)
        over = self._used + amount - self.limit.amount
        if reset and over > EPSILON and over <= self._used_before(self._provider_since) + EPSILON:
            # The provider's reset releases enough of it, whatever our own window still counts.
            return min(reset, self._released_in(now, over)) if self._provider_left >= amount else reset
        return max(self._released_in(now, over), reset if self._provider_left < amount else 0.0)

    def next_release_in(self, now: float) -> float:
        """Return the seconds until some of the used amount becomes available again."""
        if now >= self._next_release:
            self._expire_parts(now)
        return self._next_release - now if self._next_release < math.inf else self.limit.seconds

    def rate(self, now: float) -> float:
        """Return the recent rate of use, in units per second."""
        return self._rate * math.exp(-max(now - self._rate_at, 0.0) / self._rate_window)

    def exhausted_in(self, now: float) -> float:
        """Return the seconds until the limit is used up at the current rate; `inf` if it resets before."""
        rate = self.rate(now)
        if rate <= 0:
            return math.inf
        seconds = max(self.available_total(now), 0.0) / rate
        # A rolling window releases what was used: it runs out only if the rate exceeds its limit.
        is_sustained = now >= self._provider_until and rate * self.limit.seconds <= self.capacity
        return math.inf if is_sustained or seconds >= self.resets_in(now) else seconds

    def inherit_usage(self, former: QuotaWindow) -> None:
        """Take over the usage of the window that this one replaces: the same limit, with another amount."""
        self._parts, self._used = dict(former._parts), former._used
        self._rate, self._rate_at = former._rate, former._rate_at
        self._update_next_release()

    def headroom(self, usage: Usage, now: float) -> float:
        """Return the headroom: the share of the limit that is left over the share of the time that is left.

        It is less if the limit runs out before its reset at the current rate, and if only a few requests of size
        `usage` are left; 0 if none is.
        """
        # As in `can_take`.
        if now >= self._next_release:
            self._expire_parts(now)
        capacity = self.capacity
        left = capacity - self._used
        if now < self._provider_until:
            return self._headroom(min(left, self._provider_left), self.amount_of(usage), now)
        amount = usage[self.usage_index]
        if amount > capacity:  # noqa: PLR1730
            amount = capacity
        if left <= 0 or left + EPSILON < amount:
            return 0.0
        headroom = left / capacity * left / (left + amount)
        # The rate has only decayed since `_rate` was set: if the window sustains that, it need not be computed anew.
        return headroom * self._lasting_share(now) if self._rate * self._seconds > capacity else headroom

    def fits(self, usage: Usage, now: float) -> bool:
        """Return whether a request may be made now, by `available` and `amount_of`, which subclasses override."""
        left = self.available(now)
        return left > 0 and left + EPSILON >= self.amount_of(usage)

    def _headroom(self, left: float, amount: float, now: float) -> float:
        if left <= 0 or left + EPSILON < amount:
            return 0.0
        resets_in = self.resets_in(now)
        headroom = left / self.capacity * left / (left + amount)
        if resets_in < self.limit.seconds:
            headroom *= self.limit.seconds / resets_in
        return headroom * self._lasting_share(now) if self._rate * resets_in > left else headroom

    def _lasting_share(self, now: float) -> float:
        """Return the share of the time until the reset for which the limit lasts at the current rate, at most 1."""
        return min(self.exhausted_in(now) / self.resets_in(now), 1.0)

    def _released_in(self, now: float, over: float) -> float:
        """Return the seconds until `over` of the counted usage has expired."""
        seconds = 0.0
        for part, used in self._parts.items():
            if over <= EPSILON:
                break
            over -= used
            seconds = (part + PARTS + 1) * self._part_seconds - now
        return seconds

    def _used_before(self, moment: float) -> float:
        before = math.floor(moment / self._part_seconds) if moment > -math.inf else -math.inf
        return sum(used for part, used in self._parts.items() if part < before)

    def _expire_parts(self, now: float) -> None:
        if now < self._next_release:
            return
        if self._provider_until <= now and self._provider_since > -math.inf:
            # The provider's window has reset, so usage from before its reading no longer counts.
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
        """Remove `amount` of the counted usage, the oldest first."""
        while amount > EPSILON and self._parts:
            part = next(iter(self._parts))
            removed = min(self._parts[part], amount)
            self._parts[part] -= removed
            self._used -= removed
            amount -= removed
            if self._parts[part] <= EPSILON:
                del self._parts[part]
        self._update_next_release()

    def _update_next_release(self) -> None:
        reset = self._provider_until if self._provider_since > -math.inf else math.inf
        if self._parts:
            self._next_release = min(reset, (next(iter(self._parts)) + PARTS + 1) * self._part_seconds)
        else:
            # After additions and subtractions of fractions, the sum is not exactly 0.
            self._used, self._next_release = 0.0, reset
