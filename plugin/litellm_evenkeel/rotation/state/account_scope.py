"""What is live of an account, or of one model at it: what is left of its limits, what holds it, what is under way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason, Certainty
from litellm_evenkeel.rotation.model.limits import Limits, RateLimit
from litellm_evenkeel.rotation.state.cooldown import Cooldown, CooldownUpdate, HealthState
from litellm_evenkeel.rotation.state.credentials import CredentialTracker, ForbiddenStreak
from litellm_evenkeel.rotation.state.provider_limits import ProviderLimits
from litellm_evenkeel.rotation.state.quota_window import EPSILON, Ownership, QuotaWindow

if TYPE_CHECKING:
    from litellm_evenkeel.providers.limit_headers import LimitReading
    from litellm_evenkeel.rotation.model.request import Usage

ScopeKey = tuple[str, str | None]
"""An account, and the model at it or None for the account as a whole."""
MakeWindow = Callable[[ScopeKey, RateLimit], QuotaWindow]
ShareSlots = Callable[["AccountScope"], None]

# An account without a bound on what is under way is pressed by each of its requests as if it had this one.
PRESSED = 40
# When something ends that is under way, nobody knows before it does.
SOON = 1.0
# Another worker may give something back at any time.
SOONER = 0.05


class AccountScope:
    """One account as a whole, or one model at it. All times are the same clock's, in seconds."""

    __slots__ = (
        "_limit_counts",
        "_make_window",
        "_operator_windows",
        "_provider_limits",
        "_share_slots",
        "concurrent",
        "cooldown",
        "credentials",
        "forbidden_streak",
        "freed_count",
        "in_flight",
        "is_leased",
        "leased_slots",
        "on_slots_exhausted",
        "scope_key",
        "used_count",
        "windows",
    )

    def __init__(self, key: ScopeKey, cooldown: Cooldown, make: MakeWindow, share: ShareSlots) -> None:
        self.scope_key, self.cooldown, self._make_window, self._share_slots = key, cooldown, make, share
        self.in_flight = 0
        self.freed_count = 0
        """How often something has happened that can only have made it freer."""
        self.used_count = 0
        """How often something has happened that can have made it less free."""
        self.concurrent: int | None = None
        self.leased_slots: int | None = None
        """How many of them may be used here, where others use the same account; None for all."""
        self.on_slots_exhausted: Callable[[], None] = lambda: None
        """Who hears that all of those are in use."""
        self.windows: tuple[QuotaWindow, ...] = ()
        self.is_leased = False
        """Whether any of them is used by what is granted, not by what is left."""
        self._operator_windows: tuple[QuotaWindow, ...] = ()
        self._provider_limits = ProviderLimits(())
        self._limit_counts: dict[Limits, int] = {}
        """How many places say the same: of many deployments of an account, most do."""
        self.credentials = CredentialTracker()
        self.forbidden_streak = ForbiddenStreak()

    def add_deployment(self, limits: Limits, credential: str, now: float) -> bool:
        """Add what a deployment says of the limits. Return whether its credential is a new one."""
        same = self._limit_counts.get(limits, 0)
        self._limit_counts[limits] = same + 1
        if not same:
            self._apply_limits()
        return self.credentials.add(credential, now)

    def remove_deployment(self, limits: Limits, credential: str) -> None:
        """Remove what a deployment said of the limits. Its requests in flight still count."""
        self.credentials.remove(credential)
        self._limit_counts[limits] -= 1
        if not self._limit_counts[limits]:
            del self._limit_counts[limits]
            if self._limit_counts:
                self._apply_limits()

    def is_credential_replaced(self, newest: str | None) -> bool:
        """Return whether what has died here was another key than those in use, or than one that has just come."""
        cooldown = self.cooldown
        if cooldown.kind is not FailureKind.PERMANENT:
            return False
        return not self.credentials.has(cooldown.credential) or newest not in {None, cooldown.credential}

    def cooldown_update(self) -> CooldownUpdate:
        """Return what others are to know of its hold."""
        account, model = self.scope_key
        cooldown = self.cooldown
        return CooldownUpdate(
            account,
            model,
            cooldown.kind,
            cooldown.reason,
            cooldown.until,
            cooldown.is_provider_stated,
            cooldown.credential,
        )

    def blocker(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return what blocks a request, or `None`. Nothing is changed, and no lease is requested.

        With `ignore_leases`, only what is left for all workers counts, not what this worker has leased.
        """
        cooldown = self.cooldown
        if cooldown.kind is not None and cooldown.traffic_share(now) <= 0:
            return self._cooldown_blocker(now)
        return self.limit_blocker(usage, now, ignore_leases=ignore_leases)

    def limit_blocker(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return the limit that blocks a request, whatever the cooldown, or `None`."""
        if self.concurrent is not None:
            if self.in_flight >= self.concurrent:
                return Blocker(BlockReason.CONCURRENCY, now + SOON, "concurrent", needed=1, available=0)
            if self.leased_slots is not None and self.in_flight >= self.leased_slots and not ignore_leases:
                return Blocker(BlockReason.CONCURRENCY, now + SOONER, "concurrent", needed=1, available=0)
        negotiable = None
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
            negotiable = negotiable or blocker
        return negotiable

    def request_leases(self, usage: Usage, now: float) -> None:
        """Request the leases that a blocked request lacks."""
        slots, limit = self.leased_slots, self.concurrent
        if slots is not None and limit is not None and slots <= self.in_flight < limit:
            self.on_slots_exhausted()
        for window in self.windows:
            if not window.can_take(usage, now):
                amount = max(window.amount_of(usage), EPSILON)
                window.request(now, amount)
                if not window.may_exceed(now, amount):
                    break

    def reserve(self, usage: Usage, now: float) -> None:
        """Reserve what a request needs, and count it as under way."""
        self.in_flight += 1
        self.used_count += 1
        if self.leased_slots is not None and self.in_flight >= self.leased_slots:
            self.on_slots_exhausted()
        if self.cooldown.kind is not None:
            self.cooldown.on_pick(now)
        for window in self.windows:
            # Not `need[window.place]`: a subscription's window reckons in shares.
            window.take(now, window.amount_of(usage))

    def settle(self, reserved: Usage, used: Usage, began: float, now: float) -> None:
        """Count what a request has really used, in place of what was reserved for it."""
        self.in_flight -= 1
        if self.concurrent is not None:
            self.freed_count += 1
        self.amend(reserved, used, began, now)

    def amend(self, reserved: Usage, used: Usage, began: float, now: float) -> None:
        """Count something else than was counted for a request, be it under way or not."""
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

    def is_operator_limit(self, reading: LimitReading) -> bool:
        """Return whether an operator has written this limit here."""
        return self._provider_limits.is_operator_limit(reading)

    def apply_readings(
        self, readings: Sequence[LimitReading], began: float, now: float, pending: Sequence[Usage]
    ) -> None:
        """Apply limits as the provider stated them in answer to a request that began at `began`.

        `pending` is the usage of requests that began later, which the provider may not have counted yet.
        """
        self._provider_limits.apply(readings, began, now, pending)
        self.windows = self._provider_limits.windows
        self.freed_count += 1
        self.used_count += 1

    def release(self, now: float) -> None:
        """Let it be used again, as an operator says: what its provider has told of its limits is not true any more."""
        self.cooldown.reset(now)
        self.forbidden_streak.clear()
        self._provider_limits = self._provider_limits.without_readings()
        self.windows = self._provider_limits.windows
        self.freed_count += 1

    def headroom(self, usage: Usage, now: float) -> float:
        """Return how far it is ahead of an even use of its tightest limit, less what is under way; 1 without limits."""
        found = 1.0
        if self.windows:
            found = math.inf
            for window in self.windows:
                pace = window.headroom(usage, now)
                if pace < found:  # noqa: PLR1730 - see `Window.has`
                    found = pace
        if not self.in_flight:
            return found
        pressed = self.in_flight / (self.concurrent or PRESSED)
        return found * (1 - pressed if self.concurrent else 1 / (1 + pressed))

    def sustainable_rate(self, usage: Usage, now: float) -> float:
        """Return how many such requests it bears in a second until its limits reset; infinite without any."""
        found = math.inf
        for window in self.windows:
            amount = window.amount_of(usage)
            if amount > 0:
                found = min(found, max(window.available_total(now), 0.0) / amount / window.resets_in(now))
        return found

    def remaining_requests(self, usage: Usage, now: float) -> tuple[float, float, float]:
        """Return how many such requests are left of its tightest limit, of how many, and when the first come back."""
        found = math.inf, math.inf, 0.0
        for window in self.windows:
            amount = window.amount_of(usage)
            # Of what is left for all, alone nobody knows enough to share it.
            if amount > 0 and window.ownership(now, amount) is not Ownership.LOCAL_SHARE:
                left = max(window.available_total(now), 0.0) / amount
                if left < found[0]:
                    found = left, window.limit.amount / amount, window.next_release_in(now)
        return found

    def exhausted_in(self, now: float) -> float:
        """Return in how many seconds the first of its limits is used up; infinite if each resets before."""
        return min((window.exhausted_in(now) for window in self.windows), default=math.inf)

    def _apply_limits(self) -> None:
        """Take the tightest of what its deployments say; what was used of limits that stay still counts."""
        limits = (
            next(iter(self._limit_counts)) if len(self._limit_counts) == 1 else Limits.strictest(self._limit_counts)
        )
        self.concurrent = limits.concurrent
        if self.concurrent is not None:
            self._share_slots(self)
        if limits.windows != tuple(window.limit for window in self._operator_windows):
            kept = {window.limit: window for window in self._operator_windows}
            former = {(limit.unit, limit.seconds): window for limit, window in kept.items()}
            own = []
            for limit in limits.windows:
                window = kept.get(limit) or self._make_window(self.scope_key, limit)
                before = former.get((limit.unit, limit.seconds))
                if before is not None and before is not window:
                    window.inherit_usage(before)
                own.append(window)
            self._operator_windows = tuple(own)
            self.is_leased = any(window.ownership(0.0, 0.0) is not Ownership.OWNED for window in own)
            self._provider_limits = self._provider_limits.with_operator_windows(self._operator_windows)
        self.windows = self._provider_limits.windows
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
    ownership = window.ownership(now, amount)
    certainty = Certainty.CONFIRMED
    if ownership is Ownership.LEASE_PENDING:
        certainty = Certainty.LEASE_PENDING
    elif ownership is Ownership.LOCAL_SHARE and window.may_exceed(now, amount):
        certainty = Certainty.LOCAL_SHARE
    until = now + window.wait_for(now, max(amount, EPSILON))
    return Blocker(BlockReason.LIMIT, until, window.limit.name, certainty, amount, window.available(now))
