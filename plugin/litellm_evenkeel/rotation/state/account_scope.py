"""Live state of a scope (an account, or one model at it): limits, cooldown and requests in flight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason, Certainty, more_certain
from litellm_evenkeel.rotation.model.limits import Limits, RateLimit
from litellm_evenkeel.rotation.state.cooldown import Cooldown, CooldownUpdate, HealthState
from litellm_evenkeel.rotation.state.credentials import CredentialTracker, ForbiddenStreak
from litellm_evenkeel.rotation.state.provider_limits import ProviderLimits
from litellm_evenkeel.rotation.state.quota_window import EPSILON, QuotaWindow

if TYPE_CHECKING:
    from litellm_evenkeel.providers.limit_headers import LimitReading
    from litellm_evenkeel.rotation.model.control import Pause
    from litellm_evenkeel.rotation.model.request import Usage

ScopeKey = tuple[str, str | None]
"""The account, and the model; `None` for the account as a whole."""
MakeWindow = Callable[[ScopeKey, RateLimit], QuotaWindow]
ShareSlots = Callable[["AccountScope"], None]

# Without a concurrency limit, requests in flight reduce the headroom of a scope as if the limit were this.
ASSUMED_CONCURRENCY = 40
# The end of a request in flight is unknown, so a slot is expected after this long.
SLOT_FREED_SECONDS = 1.0
# Another worker may return a slot at any time.
SLOT_RETURNED_SECONDS = 0.05


@dataclass(slots=True, eq=False, repr=False)
class AccountScope:
    """One account as a whole, or one model at it. All times are by the pool's clock, in seconds."""

    scope_key: ScopeKey
    cooldown: Cooldown
    _make_window: MakeWindow
    _share_slots: ShareSlots
    pause: Pause | None = None
    """Pause by an operator, or its draining; `None` without one. It may have ended."""
    in_flight: int = 0
    freed_count: int = 0
    """Number of events that may have freed capacity. A blocker that was cached before is void."""
    used_count: int = 0
    """Number of events that may have used capacity. A headroom that was cached before is void."""
    concurrent: int | None = None
    """Maximum number of requests in flight; `None` if unlimited."""
    leased_slots: int | None = None
    """Slots of `concurrent` that this worker has leased; `None` if it may use all of them."""
    on_slots_exhausted: Callable[[], None] = lambda: None
    """Callback for when all leased slots are in use."""
    windows: tuple[QuotaWindow, ...] = ()
    is_leased: bool = False
    """Whether this worker needs a lease for any of the operator's limits."""
    provider_limits: ProviderLimits = field(default_factory=ProviderLimits)
    credentials: CredentialTracker = field(default_factory=CredentialTracker)
    forbidden_streak: ForbiddenStreak = field(default_factory=ForbiddenStreak)
    _limit_counts: dict[Limits, int] = field(default_factory=dict)
    """Number of deployments by the limits that they state. Most deployments of an account state the same."""

    def add_deployment(self, limits: Limits, credential: str, now: float) -> bool:
        """Add the limits that a deployment states. Return whether its credential is a new one."""
        count = self._limit_counts.get(limits, 0)
        self._limit_counts[limits] = count + 1
        if not count:
            self._apply_limits()
        return self.credentials.add(credential, now)

    def remove_deployment(self, limits: Limits, credential: str) -> None:
        """Remove the limits that a deployment stated. Its requests in flight still count."""
        self.credentials.remove(credential)
        self._limit_counts[limits] -= 1
        if not self._limit_counts[limits]:
            del self._limit_counts[limits]
            if self._limit_counts:
                self._apply_limits()

    def is_credential_replaced(self, newest: str | None) -> bool:
        """Return whether the quarantined credential has been replaced.

        That is so if no deployment uses it, or if `newest`, a credential that was just added, is another one.
        """
        cooldown = self.cooldown
        if cooldown.kind is not FailureKind.PERMANENT:
            return False
        return not self.credentials.has(cooldown.credential) or newest not in {None, cooldown.credential}

    def cooldown_update(self) -> CooldownUpdate:
        """Return the cooldown in the form that is sent to other workers."""
        cooldown = self.cooldown
        return CooldownUpdate(
            *self.scope_key,
            cooldown.kind,
            cooldown.reason,
            cooldown.until,
            cooldown.is_provider_stated,
            cooldown.credential,
        )

    def blocker(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return what blocks a request, or `None`. Nothing is changed, and no lease is requested.

        With `ignore_leases`, only the capacity of all workers together counts, not what this worker has leased.
        """
        pause = self.pause
        # First: a request may override an estimated cooldown, but not an operator.
        if pause is not None and now < pause.until:
            return Blocker(BlockReason.DRAINING if pause.is_draining else BlockReason.PAUSED, pause.until, "")
        return self.blocker_without_pause(usage, now, ignore_leases=ignore_leases)

    def blocker_without_pause(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return what blocks a request for which an operator's pause does not count, or `None`."""
        cooldown = self.cooldown
        if cooldown.kind is not None and cooldown.traffic_share(now) <= 0:
            return self._cooldown_blocker(now)
        return self.limit_blocker(usage, now, ignore_leases=ignore_leases)

    def is_paused(self, now: float) -> bool:
        """Return whether an operator's pause keeps all requests away."""
        return self.pause is not None and not self.pause.is_draining and now < self.pause.until

    def is_draining(self, now: float) -> bool:
        """Return whether an operator drains the account, so that only its sessions use it."""
        return self.pause is not None and self.pause.is_draining and now < self.pause.until

    def limit_blocker(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return the limit that blocks a request, whatever the cooldown, or `None`."""
        slots = self._slots_blocker(now, ignore_leases=ignore_leases)
        if slots is None:
            return self._quota_blocker(usage, now, ignore_leases=ignore_leases)
        # A used-up quota may block for hours after the next request has ended.
        return more_certain(slots, self._quota_blocker(usage, now, ignore_leases=ignore_leases))

    def _slots_blocker(self, now: float, *, ignore_leases: bool) -> Blocker | None:
        if self.concurrent is None:
            return None
        seconds = None
        if self.in_flight >= self.concurrent:
            seconds = SLOT_FREED_SECONDS
        elif self.leased_slots is not None and self.in_flight >= self.leased_slots and not ignore_leases:
            seconds = SLOT_RETURNED_SECONDS
        if seconds is None:
            return None
        return Blocker(BlockReason.CONCURRENCY, now + seconds, "concurrent", needed=1, available=0)

    def _quota_blocker(self, usage: Usage, now: float, *, ignore_leases: bool) -> Blocker | None:
        local_share_blocker = None
        for window in self.windows:
            if ignore_leases:
                amount, left = window.amount_of(usage), window.available_total(now)
                if left > 0 and left + EPSILON >= amount:
                    continue
            elif window.can_take(usage, now):
                continue
            blocker = _window_blocker(window, usage, now)
            if blocker.certainty is not Certainty.LOCAL_SHARE:
                return blocker
            local_share_blocker = local_share_blocker or blocker
        return local_share_blocker

    def request_leases(self, usage: Usage, now: float) -> None:
        """Request the leases that a blocked request lacks: a slot first, then quota."""
        if self.concurrent is not None and self.in_flight >= self.concurrent:
            return
        if self.leased_slots is not None and self.in_flight >= self.leased_slots:
            self.on_slots_exhausted()
            return
        for window in self.windows:
            if not window.can_take(usage, now):
                amount = max(window.amount_of(usage), EPSILON)
                window.request(now, amount)
                if not window.is_local or window.certainty(now, amount) is not Certainty.LOCAL_SHARE:
                    break

    def reserve(self, usage: Usage, now: float) -> None:
        """Reserve the estimated usage of a request, and count the request as in flight."""
        self.in_flight += 1
        self.used_count += 1
        if self.leased_slots is not None and self.in_flight >= self.leased_slots:
            self.on_slots_exhausted()
        if self.cooldown.kind is not None:
            self.cooldown.on_pick(now)
        for window in self.windows:
            # Not `usage[window.usage_index]`: a subscription's window counts in shares of its limit.
            window.take(now, window.amount_of(usage))

    def settle(self, reserved: Usage, used: Usage, began: float, now: float) -> None:
        """Replace the reserved usage of a request that ended with its actual usage."""
        self.in_flight -= 1
        if self.concurrent is not None:
            self.freed_count += 1
        self.amend(reserved, used, began, now)

    def amend(self, reserved: Usage, used: Usage, began: float, now: float) -> None:
        """Replace the usage that was counted for a request, in flight or not, with `used`."""
        is_freer = False
        for window in self.windows:
            more = window.amount_of(used) - window.amount_of(reserved)
            if more > 0:
                window.take(now, more)
                self.used_count += 1
            elif more < 0:
                window.give_back(began, now, -more)
                is_freer = True
        if is_freer:
            self.freed_count += 1

    def apply_readings(
        self, readings: Sequence[LimitReading], began: float, now: float, pending: Sequence[Usage]
    ) -> None:
        """Apply the limit readings in the response to a request that began at `began`.

        `pending` is the usage of requests that began later, which the provider may not have counted yet.
        """
        self.provider_limits.apply(readings, began, now, pending)
        self.windows = self.provider_limits.windows
        self.freed_count += 1
        self.used_count += 1

    def release(self, now: float) -> None:
        """End the cooldown for an operator. The limit readings are dropped: they may no longer be true."""
        self.cooldown.reset(now)
        self.forbidden_streak.clear()
        for window in self.provider_limits.operator_windows:
            window.forget_reading(now)
        self.provider_limits = ProviderLimits(self.provider_limits.operator_windows)
        self.windows = self.provider_limits.windows
        self.freed_count += 1

    def headroom(self, usage: Usage, now: float) -> float:
        """Return the headroom of the tightest limit (1 without limits), reduced by the requests in flight."""
        lowest = 1.0
        if self.windows:
            lowest = math.inf
            for window in self.windows:
                headroom = window.headroom(usage, now)
                if headroom < lowest:  # noqa: PLR1730 - see `QuotaWindow.can_take`
                    lowest = headroom
        if not self.in_flight:
            return lowest
        load = self.in_flight / (self.concurrent or ASSUMED_CONCURRENCY)
        return lowest * (1 - load if self.concurrent else 1 / (1 + load))

    def sustainable_rate(self, usage: Usage, now: float) -> float:
        """Return the requests of size `usage` per second that the limits sustain until reset; `inf` without any."""
        lowest = math.inf
        for window in self.windows:
            amount = window.amount_of(usage)
            if amount > 0:
                lowest = min(lowest, max(window.available_total(now), 0.0) / amount / window.resets_in(now))
        return lowest

    def remaining_requests(self, usage: Usage, now: float) -> tuple[float, float, float]:
        """Return what the tightest limit leaves, in requests of size `usage`.

        The result is the number of requests left, the number that the whole limit allows, and the seconds until some
        of the used amount becomes available again; `inf`, `inf` and 0 without limits.
        """
        tightest = math.inf, math.inf, 0.0
        for window in self.windows:
            amount = window.amount_of(usage)
            # While Redis is away, a worker knows too little of what is left for all workers to share it fairly.
            if amount > 0 and not window.is_local:
                left = max(window.available_total(now), 0.0) / amount
                if left < tightest[0]:
                    tightest = left, window.limit.amount / amount, window.next_release_in(now)
        return tightest

    def exhausted_in(self, now: float) -> float:
        """Return the seconds until the first limit is used up at the current rate; `inf` if each resets before."""
        return min((window.exhausted_in(now) for window in self.windows), default=math.inf)

    def _apply_limits(self) -> None:
        """Apply the strictest limits that the deployments state. Usage of limits that remain still counts."""
        limits = Limits.strictest(self._limit_counts)
        self.concurrent = limits.concurrent
        if self.concurrent is not None:
            self._share_slots(self)
        else:
            self.leased_slots, self.on_slots_exhausted = None, lambda: None
        former = self.provider_limits.operator_windows
        if limits.windows != tuple(window.limit for window in former):
            replaceable = {(window.limit.unit, window.limit.seconds): window for window in former}
            windows = []
            for limit in limits.windows:
                window = replaced = replaceable.get((limit.unit, limit.seconds))
                if window is None or window.limit != limit:
                    window = self._make_window(self.scope_key, limit)
                    if replaced is not None:
                        window.inherit_usage(replaced)
                windows.append(window)
            self.is_leased = any(window.is_leased for window in windows)
            self.provider_limits = self.provider_limits.with_operator_windows(windows)
        self.windows = self.provider_limits.windows
        self.freed_count += 1
        self.used_count += 1

    def _cooldown_blocker(self, now: float) -> Blocker:
        cooldown = self.cooldown
        state = cooldown.state(now)
        if state is HealthState.QUARANTINED:
            return Blocker(BlockReason.QUARANTINED, math.inf, cooldown.reason)
        if state is HealthState.PROBING:
            return Blocker(BlockReason.PROBING, cooldown.probe_until(), cooldown.reason, Certainty.ESTIMATED)
        if now < cooldown.provider_until:
            return Blocker(BlockReason.COOLDOWN, cooldown.provider_until, cooldown.reason)
        return Blocker(BlockReason.COOLDOWN, cooldown.until, cooldown.reason, Certainty.ESTIMATED)


def _window_blocker(window: QuotaWindow, usage: Usage, now: float) -> Blocker:
    amount = window.amount_of(usage)
    until, certainty = now + window.wait_for(now, max(amount, EPSILON)), window.certainty(now, amount)
    return Blocker(BlockReason.LIMIT, until, window.limit.name, certainty, amount, window.available(now))
