"""What is live of an account, or of one model at it: what is left of its limits, what holds it, what is under way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.model.limits import Limits, RateLimit
from litellm_evenkeel.rotation.state.cooldown import Cooldown, CooldownUpdate, HealthState
from litellm_evenkeel.rotation.state.credentials import CredentialTracker, ForbiddenStreak
from litellm_evenkeel.rotation.state.provider_limits import ProviderLimits
from litellm_evenkeel.rotation.state.quota_window import EPSILON, QuotaWindow

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

    def twin(self) -> AccountScope:
        """Return one of the same state, to try things with, that asks nobody for anything; itself if it never does."""
        windows = tuple([window.read_only() for window in self.windows])
        if self.leased_slots is None and windows == self.windows:
            return self
        found = copy(self)
        found.windows, found.leased_slots = windows, None
        return found

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

    def blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return what keeps such a request from it now, if anything does."""
        cooldown = self.cooldown
        if cooldown.kind is not None and cooldown.traffic_share(now) <= 0:
            return self._cooldown_blocker(now)
        return self.limit_blocker(usage, now)

    def limit_blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return which limit keeps such a request from it, whatever holds it beside."""
        if self.concurrent is not None and (self.leased_slots is not None or self.in_flight >= self.concurrent):
            blocker = self._concurrency_blocker(now)
            if blocker is not None:
                return blocker
        found = None
        for window in self.windows:
            if not window.can_take(usage, now):
                amount, left = window.amount_of(usage), window.available(now)
                opens_in = window.wait_for(now, max(amount, EPSILON))
                is_part = window.is_local_share(now, amount)
                blocker = Blocker(
                    BlockReason.LIMIT,
                    now + opens_in,
                    window.limit.name,
                    is_local_share=is_part,
                    is_lease_pending=window.is_lease_pending(now, amount),
                    needed=amount,
                    available=left,
                )
                if not is_part:
                    return blocker
                found = found or blocker
        return found

    def shared_blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return what keeps such a request from it, wherever it is; whoever asks this wants nothing yet."""
        cooldown = self.cooldown
        if cooldown.kind is not None and cooldown.traffic_share(now) <= 0:
            return self._cooldown_blocker(now)
        if self.concurrent is not None and self.in_flight >= self.concurrent:
            return Blocker(BlockReason.CONCURRENCY, now + SOON, "concurrent", needed=1, available=0)
        for window in self.windows:
            amount = window.amount_of(usage)
            left = window.available_total(now)
            if left + EPSILON < amount or left <= 0:
                opens_in = window.wait_for_total(now, max(amount, EPSILON))
                return Blocker(BlockReason.LIMIT, now + opens_in, window.limit.name, needed=amount, available=left)
        return None

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
            if amount > 0 and not window.is_local:
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
            self.is_leased = any(window.is_leased for window in own)
            self._provider_limits = self._provider_limits.with_operator_windows(self._operator_windows)
        self.windows = self._provider_limits.windows
        self.freed_count += 1
        self.used_count += 1

    def _concurrency_blocker(self, now: float) -> Blocker | None:
        if self.concurrent is not None and self.in_flight >= self.concurrent:
            return Blocker(BlockReason.CONCURRENCY, now + SOON, "concurrent", needed=1, available=0)
        if self.leased_slots is not None and self.in_flight >= self.leased_slots:
            self.on_slots_exhausted()
            return Blocker(BlockReason.CONCURRENCY, now + SOONER, "concurrent", needed=1, available=0)
        return None

    def _cooldown_blocker(self, now: float) -> Blocker:
        cooldown = self.cooldown
        state = cooldown.state(now)
        if state is HealthState.QUARANTINED:
            return Blocker(BlockReason.QUARANTINED, math.inf, cooldown.reason)
        if state is HealthState.PROBING:
            return Blocker(BlockReason.PROBING, cooldown.probe_until(), cooldown.reason, is_confirmed=False)
        is_sure = now < cooldown.provider_until
        return Blocker(
            BlockReason.COOLDOWN, cooldown.provider_until if is_sure else cooldown.until, cooldown.reason, is_sure
        )
