"""A seat that is alive: its account's side, its model's, and how long it takes."""

from __future__ import annotations

import math
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


class Reservation:
    """One attempt at one place, until it is settled, has failed or was forgotten."""

    __slots__ = (
        "client",
        "counted_after_expiry",
        "deployment",
        "expires_at",
        "has_readings",
        "is_open",
        "is_stream",
        "started_at",
        "stream_started_at",
        "usage",
    )

    def __init__(
        self,
        deployment: DeploymentState,
        usage: Usage,
        began: float,
        until: float,
        client: str = "",
        *,
        is_stream: bool,
    ) -> None:
        self.client = client
        """Whose request it is."""
        self.deployment, self.usage, self.started_at, self.expires_at, self.is_stream = (
            deployment,
            usage,
            began,
            until,
            is_stream,
        )
        self.is_open = True
        self.stream_started_at: float | None = None
        """When its stream began."""
        self.has_readings = False
        """Whether its stream's beginning has told of the limits."""
        self.counted_after_expiry: Usage | None = None
        """What still counts of it after nothing was heard of it for too long; None if its end is known."""


# A request that has been under way for so many times the usual time, and for so long, tells that its account hangs.
STALLED_TIMES, STALLED_SECONDS = 5.0, 1.0


def is_account_wide(reading: LimitReading) -> bool:
    """Return whether a limit is a subscription's as a whole: `unified-5h`, but not `unified-7d_opus`."""
    return reading.is_subscription and "_" not in reading.dimension and reading.dimension.count("-") <= 1


class DeploymentState:
    """One seat. All times are the same clock's, in seconds."""

    __slots__ = (
        "_blocked_freed_count",
        "_blocked_tokens",
        "_blocked_until",
        "_blocker",
        "_fits",
        "_fits_at",
        "_fits_used_count",
        "account",
        "filter_fields",
        "latency",
        "litellm_deployment",
        "model",
        "reservations",
        "spec",
    )

    def __init__(self, spec: DeploymentSpec, account: AccountScope, model: AccountScope) -> None:
        self.spec, self.account, self.model = spec, account, model
        self.latency = PeakEwma()
        self.reservations: dict[Reservation, None] = {}
        """What is under way, the oldest first."""
        self.litellm_deployment: Mapping[str, Any] | None = None
        """The deployment that its seat was read from, as LiteLLM handed it out."""
        self.filter_fields: tuple[bool, object] = (False, None)
        """Whether that has tags, and its order."""
        self._blocked_until = -math.inf
        """Until when looking again is of no use, unless something happens."""
        self._blocked_tokens = 0.0
        self._blocked_freed_count = 0
        self._blocker: Blocker | None = None
        self._fits: Usage | None = None
        """For what room was found when it was asked for its pace last, and when."""
        self._fits_at = -math.inf
        self._fits_used_count = 0

    @property
    def in_flight(self) -> int:
        """How many requests are under way here."""
        return len(self.reservations)

    def clear_cache(self) -> None:
        """Forget what was found when it was looked at."""
        self._blocked_until, self._fits = -math.inf, None

    def blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return what keeps such a request from here now, if anything does."""
        account, model = self.account, self.model
        is_free = account.cooldown.kind is None and model.cooldown.kind is None
        is_looked_at = usage is self._fits and now == self._fits_at
        if is_looked_at and is_free and self._fits_used_count == account.used_count + model.used_count:
            # A strategy has just looked at all of its limits.
            return None
        is_known = now < self._blocked_until and usage.tokens >= self._blocked_tokens
        if is_known and self._blocked_freed_count == account.freed_count + model.freed_count:
            return self._blocker
        blocker = account.blocker(usage, now)
        # Most accounts' models have no limits of their own.
        if model.windows or model.concurrent is not None or model.cooldown.kind is not None:
            blocker = model.blocker(usage, now) if blocker is None else more_certain(blocker, model.blocker(usage, now))
        if blocker is not None:
            self._blocked_until, self._blocked_tokens = blocker.until, usage.tokens
            self._blocker, self._blocked_freed_count = blocker, account.freed_count + model.freed_count
        return blocker

    def is_cooling_down(self, now: float) -> bool:
        """Return whether it may not be used, whatever is left of its limits."""
        return self.traffic_share(now) <= 0

    def total_blocker(self, usage: Usage, now: float) -> Blocker | None:
        """Return what blocks a request at every worker, or `None`: what this worker has leased does not matter."""
        return more_certain(
            self.account.blocker(usage, now, ignore_leases=True), self.model.blocker(usage, now, ignore_leases=True)
        )

    def limit_blocker(self, usage: Usage, now: float, *, ignore_leases: bool = False) -> Blocker | None:
        """Return the limit that blocks a request, whatever the cooldown, or `None`."""
        return more_certain(
            self.account.limit_blocker(usage, now, ignore_leases=ignore_leases),
            self.model.limit_blocker(usage, now, ignore_leases=ignore_leases),
        )

    def request_leases(self, usage: Usage, now: float) -> None:
        """Request the leases that a blocked request lacks here."""
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
        """Believe what the provider says; most limits it has for each model, those of subscriptions for all of them."""
        shut = exhausted_subscriptions(readings)
        # A window that is used up, and beyond which its provider lets go on, is no obstacle.
        readings = [one for one in readings if one in shut or not (one.is_subscription and one.is_exhausted)]
        account = [one for one in readings if self.account.is_operator_limit(one) or is_account_wide(one)]
        if account:
            self.account.apply_readings(account, began, now, pending(self.account))
        model = [one for one in readings if one not in account]
        if model:
            self.model.apply_readings(model, began, now, pending(self.model))

    def traffic_share(self, now: float) -> float:
        """Return which share of its traffic it may have: less than all on its way back from a hold."""
        account, model = self.account.cooldown, self.model.cooldown
        if account.kind is None and model.kind is None and now >= account.ramp_up_until and now >= model.ramp_up_until:
            # Nearly always, and asked for each choice.
            return 1.0
        share, of_model = account.traffic_share(now), model.traffic_share(now)
        return min(share, of_model)

    @property
    def estimate_probe_until(self) -> float:
        """Until when those that need not go here wait for one that has gone to see."""
        return max(self.account.cooldown.estimate_probe_until, self.model.cooldown.estimate_probe_until)

    def sustainable_rate(self, usage: Usage, now: float) -> float:
        """Return how many such requests it bears in a second; infinite without limits."""
        return min(self.account.sustainable_rate(usage, now), self.model.sustainable_rate(usage, now))

    def remaining_requests(self, usage: Usage, now: float) -> tuple[float, float, float]:
        """Return how many such requests are left here, of how many, and when the first come back; infinite if free."""
        return min(self.account.remaining_requests(usage, now), self.model.remaining_requests(usage, now))

    def headroom(self, usage: Usage, now: float) -> float:
        """Return how far it is ahead of an even use of its limits; less while what it was asked last does not end."""
        account, model = self.account, self.model
        pace = account.headroom(usage, now)
        if model.windows or model.concurrent is not None:
            pace = min(pace, model.headroom(usage, now))
        # What is lent has a pace by what is left for all: whether any of it may be used here, its lender says.
        is_lent = (
            account.is_leased or model.is_leased or account.leased_slots is not None or model.leased_slots is not None
        )
        if pace > 0 and not is_lent:
            self._fits, self._fits_at = usage, now
            self._fits_used_count = account.used_count + model.used_count
        else:
            self._fits = None
        oldest = next(iter(self.reservations), None)
        if oldest is None or now - oldest.started_at <= STALLED_SECONDS:
            return pace
        stalled = self._stalled(now)
        usual = max(self.latency.seconds * STALLED_TIMES, STALLED_SECONDS)
        return pace * usual / stalled if stalled > usual else pace

    def expected_wait(self, now: float) -> float:
        """Return how long a request would wait here: what the latest peak was, for each that stands before it."""
        return max(self.latency.current(now), self._stalled(now)) * (self.account.in_flight + 1)

    def _stalled(self, now: float) -> float:
        """Return for how long the oldest request is without an answer; streams that have begun take what they want."""
        oldest = next(iter(self.reservations), None)
        return 0.0 if oldest is None or oldest.stream_started_at is not None else now - oldest.started_at
