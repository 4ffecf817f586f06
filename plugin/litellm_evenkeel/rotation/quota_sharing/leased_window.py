"""Quota window of a limit that workers share by leases from the store, or by local shares while it is away."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.blocker import Certainty
from litellm_evenkeel.rotation.model.limits import Unit
from litellm_evenkeel.rotation.quota_sharing.held_leases import HeldLeases
from litellm_evenkeel.rotation.quota_sharing.protocol import (
    IDLE_SECONDS,
    IDLE_SHARE,
    LEASE_PARTS,
    PLENTY_IDLE_SECONDS,
    PLENTY_SHARE,
    ROUND_TRIP_SECONDS,
    ProviderReport,
    UnleasedUsage,
    WindowRequest,
)
from litellm_evenkeel.rotation.state.quota_window import EPSILON, PARTS, QuotaWindow

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.quota_sharing.protocol import ClockOffset, SharingContext, WindowGrant

# A lease lasts one to two parts of the window. The parts of a short window are kept longer than a round trip.
MIN_PART_SECONDS, MIN_PARTS = 0.25, 4
# The usage of this many seconds is leased ahead, and renewed when less than this share of it is left.
PREFETCH_SECONDS, REFILL_SHARE = 1.0, 0.5
# The rate since the last grant is averaged over at least this time, as a shorter one would overestimate it.
MIN_RATE_SECONDS = 0.05
# Returns wait for the next heartbeat, unless they exceed this share of the limit.
PROMPT_RETURN_SHARE = 0.05
# A refused request is repeated, because other workers may return something; the pause doubles up to the maximum.
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.25, 1.0
# A lease that is requested this soon after the last grant belongs to a burst, for which ever more is leased ahead.
BURST_SECONDS = 0.25
# A request that uses nothing of a limit still requires that it is not used up, so this share of it is requested.
MIN_REQUEST_SHARE = 1e-4
# Limits over a longer time are quotas rather than rates.
MAX_RATE_LIMIT_SECONDS = 3600.0
# Between local mode and the first leases, all workers together may use this share of a rate limit, which the store
# counts late. So no request of a large limit has to wait.
QUIET_SHARE = 0.005
# The amount in a report that makes the store forget what the provider stated; it is sent for as long as this.
FORGET, FORGET_SECONDS = -1.0, 60.0
# In local mode, a worker moves from its recent usage to an equal share of the limit within this many window lengths.
DRIFT_WINDOWS = 4.0


class LeasedWindow(QuotaWindow):
    """One leased limit. All times are this worker's clock's; the parts of leases are the store's."""

    is_leased = True

    __slots__ = (
        "_burst",
        "_context",
        "_granted_at",
        "_is_blocking",
        "_last_amount",
        "_leases",
        "_local_share_start",
        "_local_since",
        "_mode",
        "_needed",
        "_no_prefetch_until",
        "_part_length",
        "_prefetch_seconds",
        "_provider_report",
        "_quiet_used",
        "_refused_until",
        "_request_now",
        "_request_soon",
        "_requested_at",
        "_responded_at",
        "_retry_at",
        "_retry_pause",
        "_sent",
        "_sent_report",
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
        self._part_length = max(limit.seconds / PARTS, min(MIN_PART_SECONDS, limit.seconds / MIN_PARTS))
        self._prefetch_seconds = min(PREFETCH_SECONDS, self._part_length)
        self._leases = HeldLeases()
        self._unleased: dict[int, float] = {}
        """Usage without a lease, by the parts of this worker's own window, that the store does not know."""
        self._sent: dict[int, float] = {}
        """Such usage in the current exchange."""
        self._unleased_total = 0.0
        self._provider_report: tuple[float, float, float] | None = None
        self._sent_report: tuple[float, float, float] | None = None
        """Such a report in the current exchange."""
        self._needed = self._burst = self._last_amount = self._spent = self._quiet_used = 0.0
        self._is_blocking = False
        self._retry_pause = MIN_RETRY_SECONDS / 2
        self._used_at = self._granted_at = self._responded_at = self._requested_at = -math.inf
        self._refused_until = self._retry_at = self._no_prefetch_until = -math.inf
        self._store_available = limit.amount
        self._local_share_start, self._local_since = limit.amount / self._mode.workers, -math.inf

    @property
    def retention(self) -> float:
        """Seconds for which the store has to keep the usage."""
        return self.limit.seconds + (LEASE_PARTS + 1) * self._part_length

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to request, to report or to return."""
        has_reports = self._unleased or (self._provider_report and self._provider_report[0] == FORGET)
        return not (self._leases.unspent or self._leases.returned or has_reports or self._needed)

    def available(self, now: float) -> float:
        """Return the amount that this worker may use now."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if self._mode.is_local:
            return self._available_local(now)
        if now >= self._leases.next_expiry:
            self._return_expired(now)
        return self._leases.unspent - self._unleased_total

    def available_total(self, now: float) -> float:
        """Return the amount that is left for all workers, as far as this worker knows."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if self._mode.is_local:
            return self._available_local(now)
        elapsed_share = min((now - self._responded_at) / self.limit.seconds, 1.0)
        regained = (self.limit.amount - self._store_available) * elapsed_share
        return min(super().available(now), self._store_available + self._leases.unspent + regained)

    @property
    def is_local(self) -> bool:
        """Whether this worker may use only its local share."""
        return self._context.mode.is_local

    def certainty(self, now: float, amount: float) -> Certainty:
        """Return how certain it is that `amount` is not available: a lease may be granted, or the share exceeded."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        mode = self._mode
        if not mode.is_local:
            is_left = now >= self._refused_until and self.available_total(now) + EPSILON >= amount
            return Certainty.LEASE_PENDING if is_left else Certainty.CONFIRMED
        # Other workers may not use their shares. Only rates may exceed a share: too much costs a cheap error of the
        # provider. Quotas and money are not risked.
        may_exceed = self._is_rate and now < mode.until and super().available(now) + EPSILON >= amount
        return Certainty.LOCAL_SHARE if may_exceed else Certainty.CONFIRMED

    can_take = QuotaWindow.fits

    def headroom(self, usage: Usage, now: float) -> float:
        """Return the headroom of the limit over all workers."""
        return self._headroom(self.available_total(now), self.amount_of(usage), now)

    def take(self, now: float, amount: float) -> None:
        """Spend `amount` from the leases. Usage beyond them is reported to the store."""
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        super().take(now, amount)
        self._used_at, self._last_amount = now, amount
        self._spent += amount
        if self._mode.is_local:
            if now >= self._mode.until:
                self._quiet_used += amount
            self._record_unleased(now, amount)
            return
        if now >= self._leases.next_expiry:
            self._return_expired(now)
        uncovered = self._leases.spend(amount)
        if uncovered > EPSILON:
            self._record_unleased(now, uncovered)
            return
        is_low = self._leases.unspent < REFILL_SHARE * max(amount, self._rate * self._prefetch_seconds)
        if is_low and now >= self._no_prefetch_until:
            self._request_soon()

    def give_back(self, at: float, now: float, amount: float) -> None:
        """Undo usage that was counted at `at`, and return it to the store."""
        part = math.floor(at / self._part_seconds)
        amount = min(amount, self._parts.get(part, 0.0))
        super().give_back(at, now, amount)
        from_unleased = min(amount, self._unleased.get(part, 0.0))
        if from_unleased > 0:
            self._unleased[part] -= from_unleased
            self._unleased_total = max(self._unleased_total - from_unleased, 0.0)
        clock_offset = self._context.clock_offset
        if clock_offset and amount - from_unleased > EPSILON:
            # The lease was granted in this part or the one before. Assuming the earlier one never exceeds the limit.
            first = math.floor((at + clock_offset.low) / self._part_length) - 1
            self._leases.add_return(first, first + 1, amount - from_unleased)
            self._request_soon()

    def apply_reading(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Apply a limit reading, and report it to the store."""
        super().apply_reading(began, now, left, resets_in, pending)
        if self._provider_report is None or began >= self._provider_report[1]:
            self._provider_report = left, began, now + resets_in
        if now < self._provider_until:
            self._leases.reduce_to(self._provider_left)
        if now < self._refused_until and left > 0:
            self._refused_until = self._retry_at = -math.inf
            self._request_soon()

    def forget_reading(self, now: float) -> None:
        """Forget what the provider stated last. The usage that was counted here still counts."""
        super().forget_reading(now)
        self._provider_report = self._sent_report = None
        self._refused_until = self._retry_at = -math.inf

    def forget_shared_reading(self, now: float) -> None:
        """Make the store forget what the provider stated."""
        self._provider_report = FORGET, now, now + FORGET_SECONDS
        self._request_soon()

    def inherit_usage(self, former: QuotaWindow) -> None:
        """Take over the usage of the window that this one replaces, and what the store may not know of it yet."""
        super().inherit_usage(former)
        if isinstance(former, LeasedWindow):
            self._leases, self._unleased, self._unleased_total = former.hand_over()
            self._request_soon()

    def hand_over(self) -> tuple[HeldLeases, dict[int, float], float]:
        """Return the leases, which are to be returned, and the usage without a lease, by parts and in total."""
        self.return_all()
        self.on_timeout()
        return self._leases, self._unleased, self._unleased_total

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
        self._burst = 2 * max(self._burst, amount) if now < self._granted_at + BURST_SECONDS else 0.0
        self._needed = max(self._needed, amount, self.limit.amount * MIN_REQUEST_SHARE)
        self._retry_at, self._refused_until, self._retry_pause = -math.inf, -math.inf, MIN_RETRY_SECONDS / 2
        if not self._request_now():
            self._needed = 0.0

    @property
    def is_demanding(self) -> bool:
        """Whether a request waits for a lease."""
        return self._needed > self._leases.unspent

    def build_request(self, now: float, *, is_pulled: bool = False, confirms: bool = True) -> WindowRequest | None:
        """Return the request for the store, or `None` if there is none.

        `confirms`: this exchange is a heartbeat; small returns wait for one. `is_pulled`: a request waits for another
        window of the same scope, so this one will be needed next and is leased ahead as well.
        """
        if self._mode is not self._context.mode:
            self.on_mode_change(now)
        if now >= self._leases.next_expiry:
            self._return_expired(now)
        self._return_idle(now)
        needed, prefetch = (0.0, 0.0) if self._mode.is_local else self._demand(now, is_pulled=is_pulled)
        clock_offset, returned = self._context.clock_offset, self._leases.returned
        sends_returns = returned and (confirms or returned > PROMPT_RETURN_SHARE * self.limit.amount)
        forgets = self._provider_report is not None and self._provider_report[0] == FORGET
        if clock_offset is None or not (needed or prefetch or sends_returns or self._unleased or forgets):
            return None
        self._sent, self._unleased = self._unleased, {}
        report = self._provider_report and ProviderReport(
            self._provider_report[0],
            self._provider_report[1] + clock_offset.low,
            max(self._provider_report[2] - now, 0.0),
        )
        self._provider_report, self._sent_report = None, self._provider_report
        return WindowRequest(
            name=self.name,
            limit=self.limit.amount,
            part_seconds=self._part_length,
            parts=math.ceil(self.limit.seconds / self._part_length - EPSILON),
            is_integral=self.limit.unit is Unit.REQUESTS,
            needed=needed,
            prefetch=prefetch,
            returns=self._leases.take_returns(),
            unleased=self._unleased_usage(clock_offset),
            provider_report=report if report and report.resets_in > 0 else None,
        )

    def apply_grant(self, request: WindowRequest, grant: WindowGrant, now: float, clock_offset: ClockOffset) -> bool:
        """Apply the store's answer. Return whether a request that was blocked here may try again."""
        self._unleased_total = max(self._unleased_total - sum(self._sent.values()), 0.0)
        self._sent, self._sent_report = {}, None
        self._store_available, self._responded_at = grant.left, now
        if grant.granted > EPSILON:
            expires_at = (grant.part + LEASE_PARTS) * self._part_length - clock_offset.high
            self._leases.add(grant.part, grant.granted, expires_at)
            self._granted_at, self._spent, self._refused_until = now, 0.0, -math.inf
            if grant.granted + EPSILON >= request.needed:
                self._needed = 0.0
            was_blocking, self._is_blocking = self._is_blocking, False
            return was_blocking
        if request.needed > 0:
            wait = max(grant.available_in, ROUND_TRIP_SECONDS)
            self._refused_until = now + wait
            self._retry_pause = min(self._retry_pause * 2, MAX_RETRY_SECONDS)
            self._retry_at = now + min(wait, self._retry_pause)
        elif request.prefetch > 0:
            self._no_prefetch_until = now + MIN_RETRY_SECONDS
        return False

    def on_timeout(self) -> None:
        """Handle an exchange whose outcome is unknown: report its usage again, perhaps twice, but not its returns."""
        for part, amount in self._sent.items():
            self._unleased[part] = self._unleased.get(part, 0.0) + amount
        self._provider_report = self._provider_report or self._sent_report
        self._sent, self._sent_report = {}, None

    def return_all(self) -> None:
        """Return all leases, and request no more."""
        self._needed = self._burst = 0.0
        self._no_prefetch_until = math.inf
        self._return_expired(math.inf)

    def on_mode_change(self, now: float) -> None:
        """Follow the sharing mode of the worker."""
        old, new = self._mode, self._context.mode
        self._mode = new
        self._quiet_used = 0.0
        if new.is_local and not old.is_local:
            self._refused_until = self._retry_at = self._no_prefetch_until = -math.inf
            self._needed = self._burst = 0.0
            unspent = self._leases.unspent
            self._return_expired(math.inf)
            super().available(now)
            self._local_share_start = self._used + unspent + max(self._store_available, 0.0) / new.workers
            self._local_since = now
        if new.epoch != old.epoch and old.epoch:
            # The store has lost its data: it needs all usage of this window, and no returns.
            self._leases.clear()
            self._unleased, self._sent = dict(self._parts), {}

    def _demand(self, now: float, *, is_pulled: bool) -> tuple[float, float]:
        """Return the amount that waiting requests need, and the amount to lease ahead."""
        if self._needed and now >= max(self._refused_until, self._retry_at) > -math.inf:
            # A request that still waits requests its amount again.
            self._needed, self._refused_until = 0.0, -math.inf
        needed = 0.0
        if now >= self._retry_at:
            needed = max(self._needed - max(self._leases.unspent - self._unleased_total, 0.0), 0.0)
        # `rate` averages over minutes; the usage since the last grant may be faster.
        recent_rate = self._spent / max(now - self._granted_at, MIN_RATE_SECONDS)
        rate = max(self.rate(now), recent_rate)
        target = max(rate * self._prefetch_seconds, self._last_amount, self._burst if needed else 0.0)
        if not (needed or is_pulled) and now >= self._used_at + IDLE_SECONDS:
            target = min(target, IDLE_SHARE * self.limit.amount)
        is_in_use = now < self._used_at + self._idle_seconds
        is_low = self._leases.unspent < REFILL_SHARE * target and is_in_use and now >= self._no_prefetch_until
        return needed, max(target - self._leases.unspent, 0.0) if needed or is_low or is_pulled else 0.0

    @property
    def _is_rate(self) -> bool:
        """Whether this is a rate limit, rather than a quota or money."""
        return self.limit.seconds <= MAX_RATE_LIMIT_SECONDS and self.limit.unit is not Unit.DOLLARS

    def _return_idle(self, now: float) -> None:
        """Return leases that have not been used lately, or most of them."""
        last = max(self._used_at, self._granted_at)
        if now >= last + self._idle_seconds:
            self._return_expired(math.inf)
        elif now >= last + IDLE_SECONDS:
            self._leases.reduce_to(IDLE_SHARE * self.limit.amount)

    @property
    def _idle_seconds(self) -> float:
        """Seconds without usage after which all leases are returned."""
        is_plenty = self._store_available >= PLENTY_SHARE * self.limit.amount
        return PLENTY_IDLE_SECONDS if is_plenty else IDLE_SECONDS

    def _available_local(self, now: float) -> float:
        left = super().available(now)
        if now >= self._mode.until:
            share = QUIET_SHARE * self.limit.amount / self._mode.workers if self._is_rate else 0.0
            return min(left, share - self._quiet_used)
        if self._used <= EPSILON:
            # However small the local share is, it allows one request.
            return left
        return min(left, self._local_share(now) - self._used)

    def _local_share(self, now: float) -> float:
        equal_share = self.limit.amount / self._mode.workers
        drift = (now - self._local_since) / (DRIFT_WINDOWS * self.limit.seconds)
        return equal_share if drift >= 1 else self._local_share_start + (equal_share - self._local_share_start) * drift

    def _local_wait_for(self, now: float, amount: float) -> float:
        if now >= self._mode.until:
            return ROUND_TRIP_SECONDS
        over = min(self._used + amount - self._local_share(now), self._used)
        return max(self._released_in(now, over), super().wait_for(now, amount), ROUND_TRIP_SECONDS)

    def _unleased_usage(self, clock_offset: ClockOffset) -> tuple[UnleasedUsage, ...]:
        """Return the usage to report, by the store's parts: if uncertain, in the later part, which expires later."""
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

    def _return_expired(self, now: float) -> None:
        if self._leases.expire(now):
            self._request_soon()
