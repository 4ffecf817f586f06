"""A limit that workers share: each spends what it was granted; alone, its part of the limit."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.limits import Unit
from litellm_evenkeel.rotation.quota_sharing.protocol import (
    IDLE_SECONDS,
    LEASE_PARTS,
    ROUND_TRIP_SECONDS,
    LeaseReturn,
    ProviderReport,
    UnleasedUsage,
    WindowRequest,
)
from litellm_evenkeel.rotation.state.quota_window import EPSILON, PARTS, Ownership, QuotaWindow

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.quota_sharing.protocol import ClockOffset, SharingContext, WindowGrant

# A grant is good for one to two parts of the window: parts of a short one are not as short as a round trip.
SHORTEST_PART, FEWEST_PARTS = 0.25, 4
# As much as is used in so many seconds is granted ahead; there is more when less than this share of it is left.
AHEAD, LOW = 1.0, 0.5
# It is not reckoned from less than so many seconds.
SHORTEST = 0.05
# What is given back is told by and by, unless it is such a share of the limit.
MUCH = 0.05
# What was refused is asked for again, ever more rarely: others may have given something back.
AGAIN, RAREST = 0.25, 1.0
# A request that takes nothing of a limit still needs it not to be used up.
LEAST = 1e-4
# What comes back as soon is a rate; what takes longer is a quota.
LONGEST_RATE = 3600.0
# Alone, each comes from what it used lately to an equal part of the limit within so many lengths of the window.
DRIFT = 4.0


class LeasedWindow(QuotaWindow):
    """One limit. All times are this worker's clock's, parts are the store's."""

    __slots__ = (
        "_burst",
        "_context",
        "_granted",
        "_granted_at",
        "_grants",
        "_is_blocking",
        "_last_amount",
        "_local_share_start",
        "_local_since",
        "_mode",
        "_needed",
        "_next_expiry",
        "_no_prefetch_until",
        "_part_length",
        "_provider_report",
        "_refused_until",
        "_request_now",
        "_request_soon",
        "_requested_at",
        "_responded_at",
        "_retry_at",
        "_retry_pause",
        "_returns",
        "_sent",
        "_spent",
        "_store_available",
        "_unleased",
        "_unleased_total",
        "_used_at",
        "name",
    )

    def __init__(
        self,
        limit: RateLimit,
        context: SharingContext,
        request_now: Callable[[], bool],
        request_soon: Callable[[], None],
    ) -> None:
        super().__init__(limit)
        self.name = f"{limit.unit}/{limit.seconds!r}"
        self._context, self._request_now, self._request_soon = context, request_now, request_soon
        self._mode = context.mode
        self._part_length = max(limit.seconds / PARTS, min(SHORTEST_PART, limit.seconds / FEWEST_PARTS))
        self._grants: deque[list[float]] = deque()
        """Part, what is left of it, and when it is good no more; the oldest first."""
        self._granted, self._next_expiry = 0.0, math.inf
        self._returns: dict[tuple[int, int], float] = {}
        self._unleased: dict[int, float] = {}
        """What was used without a grant, by parts of our own window."""
        self._sent: dict[int, float] = {}
        self._unleased_total = 0.0
        self._provider_report: tuple[float, float, float] | None = None
        self._needed = self._burst = self._last_amount = self._spent = 0.0
        self._is_blocking = False
        self._retry_pause = AGAIN / 2
        self._used_at = self._granted_at = self._responded_at = self._requested_at = -math.inf
        self._refused_until = self._retry_at = self._no_prefetch_until = -math.inf
        self._store_available = limit.amount
        self._local_share_start, self._local_since = limit.amount / self._mode.workers, -math.inf

    @property
    def retention(self) -> float:
        """For how many seconds the store has to remember what was used."""
        return self.limit.seconds + (LEASE_PARTS + 1) * self._part_length

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say."""
        return not (self._granted or self._returns or self._unleased or self._needed)

    def available(self, now: float) -> float:
        """Return how much may be used here now."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if self._mode.is_local:
            return self._available_local(now)
        if now >= self._next_expiry:
            self._return_expired(now)
        return self._granted - self._unleased_total

    def available_total(self, now: float) -> float:
        """Return how much of it is left for all, as far as is known here."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if self._mode.is_local:
            return self._available_local(now)
        regained = (self.limit.amount - self._store_available) * min(
            (now - self._responded_at) / self.limit.seconds, 1.0
        )
        return min(super().available(now), self._store_available + self._granted + regained)

    def ownership(self, now: float, amount: float) -> Ownership:
        """Return whether `amount` can be leased soon, or whether this worker is on its local share."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if self._mode.is_local:
            return Ownership.LOCAL_SHARE
        is_refused = now < self._refused_until
        is_left = self.available_total(now) + EPSILON >= amount
        return Ownership.LEASE_PENDING if is_left and not is_refused else Ownership.LEASED

    def may_exceed(self, now: float, amount: float) -> bool:
        """Return whether `amount` may be used beyond the local share, because other workers may not use theirs.

        Only rates may be exceeded: a provider answers too much of them with a cheap refusal. Quotas and money are not
        risked.
        """
        mode = self._mode
        is_rate = self.limit.seconds <= LONGEST_RATE and self.limit.unit is not Unit.DOLLARS
        return is_rate and mode.is_local and now < mode.until and super().available(now) + EPSILON >= amount

    def can_take(self, usage: Usage, now: float) -> bool:
        """Return whether a request may be made here now."""
        return self._can_take(usage, now)

    def headroom(self, usage: Usage, now: float) -> float:
        """Return how far it is ahead of an even use, by what is left for all."""
        return self._headroom(self.available_total(now), self.amount_of(usage), now)

    def take(self, now: float, amount: float) -> None:
        """Spend of what was granted; what goes beyond is owed."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        super().take(now, amount)
        self._used_at, self._last_amount = now, amount
        self._spent += amount
        if self._mode.is_local:
            self._record_unleased(now, amount)
            return
        if now >= self._next_expiry:
            self._return_expired(now)
        wanting = amount
        while wanting > EPSILON and self._grants:
            grant = self._grants[0]
            spent = min(grant[1], wanting)
            wanting -= spent
            grant[1] -= spent
            if grant[1] <= EPSILON:
                self._grants.popleft()
        self._count_grants()
        if wanting > EPSILON:
            self._record_unleased(now, wanting)
        elif self._granted < LOW * max(amount, self._rate * self._ahead) and now >= self._no_prefetch_until:
            self._request_soon()

    def give_back(self, at: float, now: float, amount: float) -> None:
        """Take back what was counted at a moment; the store is told."""
        part = math.floor(at / self._part_seconds)
        amount = min(amount, self._parts.get(part, 0.0))
        super().give_back(at, now, amount)
        from_owed = min(amount, self._unleased.get(part, 0.0))
        if from_owed > 0:
            self._unleased[part] -= from_owed
            self._unleased_total = max(self._unleased_total - from_owed, 0.0)
        clock_offset = self._context.clock_offset
        if clock_offset and amount - from_owed > EPSILON:
            # It was granted then or a part earlier. That it was the earlier one never lets more pass.
            first = math.floor((at + clock_offset.low) / self._part_length) - 1
            self._return(first, first + 1, amount - from_owed)
            self._request_soon()

    def apply_reading(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Believe what the provider has said; the store is told."""
        super().apply_reading(began, now, left, resets_in, pending)
        if self._provider_report is None or began >= self._provider_report[1]:
            self._provider_report = left, began, now + resets_in
        while self._grants and self._granted > self._provider_left + EPSILON and now < self._provider_until:
            part, amount, _ = self._grants.pop()
            self._return(int(part), int(part), amount)
            self._count_grants()
        if now < self._refused_until and left > 0:
            self._refused_until = self._retry_at = -math.inf
            self._request_soon()

    def wait_for(self, now: float, amount: float) -> float:
        """Return the seconds until `amount` may be used here, or `inf` if it exceeds the limit."""
        if amount > self.limit.amount:
            return math.inf
        left = self.available(now)
        if left > 0 and amount <= left + EPSILON:
            return 0.0
        if self._mode.is_local:
            return self._local_wait_for(now, amount)
        # A smaller amount than the refused one may still be granted.
        if now < self._refused_until and amount >= self._needed:
            return self._refused_until - now
        return ROUND_TRIP_SECONDS

    def request(self, now: float, amount: float) -> None:
        """Request a lease of `amount` for a waiting request, unless it is requested or was refused already."""
        if amount > self.limit.amount:
            return
        self._is_blocking = True
        if self._mode.is_local:
            self._request_now()
            return
        is_requested = now < self._requested_at + ROUND_TRIP_SECONDS and amount <= self._needed
        if is_requested or (now < self._refused_until and amount >= self._needed):
            return
        if now < self._refused_until:
            self._needed = 0.0
        self._requested_at = now
        is_burst = now < self._granted_at + AGAIN
        self._burst = 2 * max(self._burst, amount) if is_burst else 0.0
        self._needed = max(self._needed, amount, self.limit.amount * LEAST)
        self._retry_at = self._refused_until = -math.inf
        self._retry_pause = AGAIN / 2
        if not self._request_now():
            self._needed = 0.0

    @property
    def is_demanding(self) -> bool:
        """Whether somebody waits."""
        return self._needed > self._granted

    def build_request(self, now: float, *, is_pulled: bool = False, confirms: bool = True) -> WindowRequest | None:
        """Return what is to be said to the store, if anything is; what is only given back waits to be confirmed.

        It is pulled where somebody waits for another window of the same side: this one will be wanted next.
        """
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if now >= self._next_expiry:
            self._return_expired(now)
        if now >= self._used_at + IDLE_SECONDS and now >= self._granted_at + IDLE_SECONDS:
            self._return_expired(math.inf)
        demand, ahead = (0.0, 0.0) if self._mode.is_local else self._wanted(now, is_pulled=is_pulled)
        clock_offset = self._context.clock_offset
        gives_back = self._returns and (confirms or sum(self._returns.values()) > MUCH * self.limit.amount)
        if clock_offset is None or not (demand or ahead or gives_back or self._unleased):
            return None
        returns = tuple(LeaseReturn(first, last, amount) for (first, last), amount in self._returns.items())
        self._sent, self._unleased = self._unleased, {}
        self._returns = {}
        told = self._provider_report and ProviderReport(
            self._provider_report[0],
            self._provider_report[1] + clock_offset.low,
            max(self._provider_report[2] - now, 0.0),
        )
        self._provider_report = None
        return WindowRequest(
            name=self.name,
            limit=self.limit.amount,
            part_seconds=self._part_length,
            parts=math.ceil(self.limit.seconds / self._part_length - EPSILON),
            is_integral=self.limit.unit is Unit.REQUESTS,
            needed=demand,
            prefetch=ahead,
            returns=returns,
            unleased=self._unleased_usage(clock_offset),
            provider_report=told if told and told.resets_in > 0 else None,
        )

    def apply_grant(self, request: WindowRequest, grant: WindowGrant, now: float, clock_offset: ClockOffset) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        self._unleased_total = max(self._unleased_total - sum(self._sent.values()), 0.0)
        self._sent = {}
        self._store_available, self._responded_at = grant.left, now
        if grant.granted > EPSILON:
            ends = (grant.part + LEASE_PARTS) * self._part_length - clock_offset.high
            self._grants.append([grant.part, grant.granted, ends])
            self._count_grants()
            self._granted_at, self._spent = now, 0.0
            self._refused_until = -math.inf
            if grant.granted + EPSILON >= request.needed:
                self._needed = 0.0
            was_barred, self._is_blocking = self._is_blocking, False
            return was_barred
        if request.needed > 0:
            self._refused_until = now + max(grant.available_in, ROUND_TRIP_SECONDS)
            self._retry_pause = min(self._retry_pause * 2, RAREST)
            self._retry_at = now + min(max(grant.available_in, ROUND_TRIP_SECONDS), self._retry_pause)
        elif request.prefetch > 0:
            self._no_prefetch_until = now + AGAIN
        return False

    def on_timeout(self) -> None:
        """Know that nobody knows what has become of it: what is owed is said again, what was given back is not."""
        for part, amount in self._sent.items():
            self._unleased[part] = self._unleased.get(part, 0.0) + amount
        self._sent = {}

    def return_all(self) -> None:
        """Want nothing more."""
        self._needed = self._burst = 0.0
        self._no_prefetch_until = math.inf
        self._return_expired(math.inf)

    def on_mode_change(self, now: float) -> None:
        """Take notice of how this worker stands to the store."""
        old, new = self._mode, self._context.mode
        self._mode = new
        if new.is_local and not old.is_local:
            self._refused_until = self._retry_at = self._no_prefetch_until = -math.inf
            self._needed = self._burst = 0.0
            granted = self._granted
            self._return_expired(math.inf)
            super().available(now)
            self._local_share_start = self._used + granted + max(self._store_available, 0.0) / new.workers
            self._local_since = now
        if new.epoch != old.epoch and old.epoch:
            # It knows nothing of what was before.
            self._returns.clear()
            self._grants.clear()
            self._count_grants()
            self._unleased, self._sent = dict(self._parts), {}

    def _wanted(self, now: float, *, is_pulled: bool) -> tuple[float, float]:
        if self._needed and now >= max(self._refused_until, self._retry_at) > -math.inf:
            # Whoever still wants it says so.
            self._needed, self._refused_until = 0.0, -math.inf
        demand = 0.0
        if now >= self._retry_at:
            demand = max(self._needed - max(self._granted - self._unleased_total, 0.0), 0.0)
        # The rate is that of minutes; what was just granted may have gone faster.
        lately = self._spent / max(now - self._granted_at, SHORTEST)
        target = max(max(self.rate(now), lately) * self._ahead, self._last_amount, self._burst if demand else 0.0)
        is_low = self._granted < LOW * target and now < self._used_at + IDLE_SECONDS and now >= self._no_prefetch_until
        return demand, max(target - self._granted, 0.0) if demand or is_low or is_pulled else 0.0

    @property
    def _ahead(self) -> float:
        return min(AHEAD, self._part_length)

    def _available_local(self, now: float) -> float:
        if now >= self._mode.until:
            return 0.0
        left = super().available(now)
        if self._used <= EPSILON:
            # However small a part is, one request goes.
            return left
        return min(left, self._local_share(now) - self._used)

    def _local_share(self, now: float) -> float:
        fair = self.limit.amount / self._mode.workers
        gone = (now - self._local_since) / (DRIFT * self.limit.seconds)
        return fair if gone >= 1 else self._local_share_start + (fair - self._local_share_start) * gone

    def _local_wait_for(self, now: float, amount: float) -> float:
        if now >= self._mode.until:
            return ROUND_TRIP_SECONDS
        over = min(self._used + amount - self._local_share(now), self._used)
        return max(self._released_in(now, over), super().wait_for(now, amount), ROUND_TRIP_SECONDS)

    def _unleased_usage(self, clock_offset: ClockOffset) -> tuple[UnleasedUsage, ...]:
        """Return what is owed by parts of the store: rather too late ones, which leave later."""
        width = self._part_seconds
        return tuple(
            UnleasedUsage(math.floor(((part + 1) * width + clock_offset.high) / self._part_length), amount)
            for part, amount in self._sent.items()
            if amount > EPSILON
        )

    def _record_unleased(self, now: float, amount: float) -> None:
        part = math.floor(now / self._part_seconds)
        self._unleased[part] = self._unleased.get(part, 0.0) + amount
        if self._mode.is_local:
            while next(iter(self._unleased)) < part - PARTS:
                del self._unleased[next(iter(self._unleased))]
        else:
            self._unleased_total += amount
        if self._context.clock_offset:
            self._request_soon()

    def _return(self, first: int, last: int, amount: float) -> None:
        self._returns[first, last] = self._returns.get((first, last), 0.0) + amount

    def _return_expired(self, now: float) -> None:
        """Give back what is good no more."""
        while self._grants and self._grants[0][2] <= now:
            part, amount, _ = self._grants.popleft()
            self._return(int(part), int(part), amount)
        self._count_grants()
        if self._returns:
            self._request_soon()

    def _count_grants(self) -> None:
        self._granted = sum([grant[1] for grant in self._grants])
        self._next_expiry = self._grants[0][2] if self._grants else math.inf
