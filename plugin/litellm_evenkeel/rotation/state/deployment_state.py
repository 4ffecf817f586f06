"""Live state of one deployment: account limits, model limits and latency."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.providers.limit_headers import exhausted_subscriptions
from litellm_evenkeel.rotation.model.blocker import more_certain
from litellm_evenkeel.rotation.state.latency import PeakEwma

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.providers.limit_headers import LimitReading
    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.state.account_scope import AccountScope


@dataclass(slots=True, eq=False, repr=False)
class Reservation:
    """Reservation of one attempt at one deployment, held until the attempt ends or the reservation expires."""

    deployment: DeploymentState
    usage: Usage
    started_at: float
    expires_at: float
    client: str
    """Client that sent the request; empty if unknown."""
    is_stream: bool
    is_open: bool = True
    stream_started_at: float | None = None
    """Time at which the response stream began; `None` before that, or without a stream."""
    has_readings: bool = False
    """Whether limit readings came with the start of the stream."""
    counted_after_expiry: Usage | None = None
    """Usage that still counts after the reservation expired; `None` if it did not expire or its result is known."""

    def usage_without_result(self) -> Usage:
        """Return the usage to count for an attempt without a known result: the request, but no tokens or dollars."""
        return self.usage._replace(tokens=0.0, dollars=0.0)


# An account seems to hang once its oldest request takes longer than this many times the latency, and this many seconds.
STALLED_FACTOR, STALLED_SECONDS = 5.0, 1.0


def is_account_wide(reading: LimitReading) -> bool:
    """Return whether a limit applies to a subscription as a whole: `unified-5h` does, `unified-7d_opus` does not."""
    return reading.is_subscription and "_" not in reading.dimension and reading.dimension.count("-") <= 1


@dataclass(slots=True, eq=False, repr=False)
class DeploymentState:
    """Live state of one deployment. All times are by the pool's clock, in seconds."""

    spec: DeploymentSpec
    account: AccountScope
    model: AccountScope
    latency: PeakEwma = field(default_factory=PeakEwma)
    reservations: dict[Reservation, None] = field(default_factory=dict)
    """Attempts in flight, the oldest first."""
    litellm_deployment: Mapping[str, Any] | None = None
    """The LiteLLM deployment that `spec` was read from last; `None` if unknown."""
    _blocked_until: float = -math.inf
    """Time until which `_blocker` is reused for requests of `_blocked_tokens` or more, unless capacity is freed."""
    _blocked_tokens: float = 0.0
    _blocked_freed_count: int = 0
    _blocker: Blocker | None = None
    _available_for: Usage | None = None
    """Usage that `headroom` last found capacity for, at `_available_at`; `None` if it found none."""
    _available_at: float = -math.inf
    _available_used_count: int = 0

    @property
    def in_flight(self) -> int:
        """Number of requests in flight at this deployment."""
        return len(self.reservations)

    def clear_cache(self) -> None:
        """Forget the cached blocker and headroom."""
        self._blocked_until, self._available_for = -math.inf, None

    def blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return what blocks a request of size `usage` now, or `None`."""
        account, model = self.account, self.model
        is_free = account.cooldown.kind is None and model.cooldown.kind is None and account.pause is None
        is_just_checked = usage is self._available_for and now == self._available_at
        if is_just_checked and is_free and self._available_used_count == account.used_count + model.used_count:
            # A strategy has just checked all limits for this request.
            return None
        is_cached = now < self._blocked_until and usage.tokens >= self._blocked_tokens
        if is_cached and self._blocked_freed_count == account.freed_count + model.freed_count:
            return self._blocker
        blocker = account.blocker(usage, now)
        # Most accounts' models have no limits of their own.
        if model.windows or model.concurrent is not None or model.cooldown.kind is not None:
            blocker = model.blocker(usage, now) if blocker is None else more_certain(blocker, model.blocker(usage, now))
        if blocker is not None:
            self._blocked_until, self._blocked_tokens = blocker.until, usage.tokens
            self._blocker, self._blocked_freed_count = blocker, account.freed_count + model.freed_count
        return blocker

    def total_blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return what blocks a request at every worker, or `None`. The leases of this worker are ignored."""
        return more_certain(
            self.account.blocker(usage, now, ignore_leases=True), self.model.blocker(usage, now, ignore_leases=True)
        )

    def blocker_while_draining(self, usage: Usage, now: float) -> Blocker | None:
        """Return what blocks a request of a session that is pinned to this account while an operator drains it."""
        return more_certain(self.account.blocker_without_pause(usage, now), self.model.blocker(usage, now))

    def limit_blocker(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return the limit that blocks a request, whatever the cooldown, or `None`."""
        return more_certain(
            self.account.limit_blocker(usage, now, ignore_leases=ignore_leases),
            self.model.limit_blocker(usage, now, ignore_leases=ignore_leases),
        )

    def request_leases(self, usage: Usage, now: float) -> None:
        """Request the leases that a blocked request lacks at this deployment, unless an operator has paused it."""
        if self.account.is_paused(now):
            return
        for scope in (self.account, self.model):
            if scope.cooldown.kind is None or scope.cooldown.traffic_share(now) > 0:
                scope.request_leases(usage, now)

    def apply_readings(
        self,
        readings: Sequence[LimitReading],
        began: float,
        now: float,
        pending: Callable[[AccountScope], Sequence[Usage]],
    ) -> None:
        """Apply limit readings of a request that began at `began`.

        Limits of subscriptions, and those that the operator set for the account, apply to the account as a whole;
        others to the model. `pending` returns the usage that a scope reserved since `began`.
        """
        blocking = exhausted_subscriptions(readings)
        # A used-up window that the provider lets requests exceed must not block.
        readings = [
            reading
            for reading in readings
            if reading in blocking or not (reading.is_subscription and reading.is_exhausted)
        ]
        if self.spec.keep:
            readings = [reading.keeping(self.spec.keep) for reading in readings]
        is_operator_limit = self.account.provider_limits.is_operator_limit
        account = [reading for reading in readings if is_operator_limit(reading) or is_account_wide(reading)]
        if account:
            self.account.apply_readings(account, began, now, pending(self.account))
        model = [reading for reading in readings if reading not in account]
        if model:
            self.model.apply_readings(model, began, now, pending(self.model))

    def is_paused(self, now: float) -> bool:
        """Return whether an operator has paused or drains the account."""
        pause = self.account.pause
        return pause is not None and now < pause.until

    def traffic_share(self, now: float) -> float:
        """Return the share of its normal traffic that the deployment may take; less than 1 during a ramp-up."""
        account, model = self.account.cooldown, self.model.cooldown
        if account.kind is None and model.kind is None and now >= account.ramp_up_until and now >= model.ramp_up_until:
            # The usual case, on the path of every pick.
            return 1.0
        return min(account.traffic_share(now), model.traffic_share(now))

    @property
    def is_unproven(self) -> bool:
        """Whether a cooldown has not ended with a success yet, so that the next request is a probe."""
        return not (self.account.cooldown.has_recovered and self.model.cooldown.has_recovered)

    @property
    def estimate_probe_until(self) -> float:
        """Time until which no other probe is sent during an estimated cooldown; `-inf` if one may be sent at once."""
        return max(self.account.cooldown.estimate_probe_until, self.model.cooldown.estimate_probe_until)

    def sustainable_rate(self, usage: Usage, now: float) -> float:
        """Return the requests per second of size `usage` that the limits sustain; `inf` without limits."""
        return min(self.account.sustainable_rate(usage, now), self.model.sustainable_rate(usage, now))

    def remaining_requests(self, usage: Usage, now: float) -> tuple[float, float, float]:
        """Return what the tightest limit leaves, in requests of size `usage`: see `AccountScope.remaining_requests`."""
        return min(self.account.remaining_requests(usage, now), self.model.remaining_requests(usage, now))

    def headroom(self, usage: Usage, now: float) -> float:
        """Return the headroom of the tightest limit; less while the oldest request in flight takes unusually long."""
        account, model = self.account, self.model
        headroom = account.headroom(usage, now)
        if model.windows or model.concurrent is not None:
            headroom = min(headroom, model.headroom(usage, now))
        # The headroom of leased limits is that of all workers: whether this one has a lease must still be checked.
        is_leased = (
            account.is_leased or model.is_leased or account.leased_slots is not None or model.leased_slots is not None
        )
        if headroom > 0 and not is_leased:
            self._available_for, self._available_at = usage, now
            self._available_used_count = account.used_count + model.used_count
        else:
            self._available_for = None
        oldest = next(iter(self.reservations), None)
        if oldest is None or now - oldest.started_at <= STALLED_SECONDS:
            return headroom
        stalled = self._stalled(now)
        tolerated = max(self.latency.seconds * STALLED_FACTOR, STALLED_SECONDS)
        return headroom * tolerated / stalled if stalled > tolerated else headroom

    def expected_wait(self, now: float) -> float:
        """Return the estimated seconds until a response: the peak latency for this request and each one in flight."""
        return max(self.latency.current(now), self._stalled(now)) * (self.account.in_flight + 1)

    def _stalled(self, now: float) -> float:
        """Return the seconds since the oldest request began; 0 once its response streams, as streams may be long."""
        oldest = next(iter(self.reservations), None)
        return 0.0 if oldest is None or oldest.stream_started_at is not None else now - oldest.started_at
