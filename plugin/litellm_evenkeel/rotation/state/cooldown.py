"""Cooldown of a scope after failures: probe, ramp-up and quarantine.

HEALTHY --failure--> COOLING_DOWN --cooldown over--> PROBING --probe succeeds--> RAMPING_UP --> HEALTHY
                          ^                             | probe fails                | failure
                          +-----------------------------+----------------------------+
Any state --permanent failure--> QUARANTINED, until an operator releases the account or its credential changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - read by annotation
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from litellm_evenkeel.providers.classifier import LONGEST_QUOTA, LONGEST_RATE_LIMIT
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.settings_schema.types import Count, Duration, Factor, PositiveDuration, Ratio, SettingsModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.providers.classifier import Failure


@dataclass(frozen=True, slots=True)
class CooldownUpdate:
    """State of one cooldown, as workers send it to each other."""

    account: str
    model: str | None
    """`None` for the account as a whole."""
    kind: FailureKind | None
    """`None` if an operator released the account."""
    reason: str
    until: float
    """Time at which the cooldown ends; `inf` for a quarantine."""
    is_provider_stated: bool
    """Whether the provider stated how long."""
    credential: str = ""
    """Fingerprint of the quarantined credential; empty if unknown, or if the cooldown applies to all credentials."""


# Bounds the exponent of the backoff, which is at its maximum long before: larger ones could overflow.
MAX_BACKOFF_STEPS = 30
# Other requests wait this long for the first one to an account whose cooldown is only an estimate.
ESTIMATE_PROBE_SECONDS = 1.0
# After a failure, other requests wait this long before the next one is sent.
ESTIMATE_PROBE_PAUSE = 0.25
# A success cancels this part of a failure. So an account that fails less than once in five requests never cools down.
FORGIVEN_BY_SUCCESS = 0.25


class HealthState(StrEnum):
    """State of a cooldown, from full traffic to none."""

    HEALTHY = "healthy"
    COOLING_DOWN = "cooling_down"
    PROBING = "probing"
    RAMPING_UP = "ramping_up"
    QUARANTINED = "quarantined"


class CooldownSettings(SettingsModel):
    """Settings of cooldowns: how long they last and how they end."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "first": "initial",
        "factor": "multiplier",
        "most": "max",
        "tolerated": "allowed_failures",
        "forgives": "failure_window",
        "most_jitter": "max_jitter",
        "ramp": "ramp_up",
        "probe": "probe_timeout",
        "longest_rate_limit": "max_rate_limit",
        "longest_quota": "max_quota",
    }

    initial: PositiveDuration = 1.0
    """Length of the first cooldown, if the provider states no length."""
    multiplier: Factor = 2.0
    """Factor by which each further cooldown is longer, if the provider states no length."""
    max: PositiveDuration = 300.0
    """Maximum length of a cooldown, if the provider states no length."""
    allowed_failures: Count = 2
    """Number of transient failures within `failure_window` that cause no cooldown."""
    failure_window: Duration = 60.0
    """Time without a failure after which earlier failures no longer count."""
    jitter: Ratio = 0.25
    """Share of a cooldown by which it is randomly prolonged at most, so that accounts do not all return at once."""
    max_jitter: Duration = 2.0
    """Maximum of that random prolongation."""
    ramp_up: PositiveDuration = 1.0
    """Length of the ramp-up from a successful probe to full traffic."""
    probe_timeout: PositiveDuration = 30.0
    """Time after which a probe without a result is given up, and the next request is the probe."""
    max_rate_limit: PositiveDuration = LONGEST_RATE_LIMIT
    """Maximum length of a cooldown for a rate limit, whatever the provider states."""
    max_quota: PositiveDuration = LONGEST_QUOTA
    """Maximum length of a cooldown for a used-up quota, whatever the provider states."""


@dataclass(slots=True, eq=False, repr=False)
class Cooldown:
    """Cooldown of one scope. All times are by the pool's clock, in seconds."""

    _settings: CooldownSettings
    _random: Callable[[], float]
    until: float = -math.inf
    """Time at which the cooldown ends; `inf` for a quarantine."""
    kind: FailureKind | None = None
    """Kind of the failure that caused it; `None` without a cooldown."""
    reason: str = ""
    credential: str = ""
    """Fingerprint of the quarantined credential; empty if unknown."""
    provider_until: float = -math.inf
    """End of the cooldown as the provider stated it; the time from there to `until` is an estimate of ours."""
    failures: float = 0.0
    """Number of recent failures, less `FORGIVEN_BY_SUCCESS` for each success since."""
    ramp_up_until: float = -math.inf
    """End of the ramp-up; `-inf` if there was none."""
    _backoff_steps: int = 0
    _last_failure_at: float = -math.inf
    _probe_at: float = -math.inf
    """Start of the probe after the cooldown; `-inf` without one."""
    _estimate_probe_at: float = -math.inf
    """Start of the first attempt since the last failure; `-inf` if none began, `inf` once one succeeded."""

    def use(self, settings: CooldownSettings) -> None:
        """Use other settings from now on."""
        self._settings = settings

    def state(self, now: float) -> HealthState:
        """Return the state."""
        if self.kind is None:
            return HealthState.RAMPING_UP if now < self.ramp_up_until else HealthState.HEALTHY
        if self.kind is FailureKind.PERMANENT:
            return HealthState.QUARANTINED
        return HealthState.COOLING_DOWN if now < self.until else HealthState.PROBING

    @property
    def is_provider_stated(self) -> bool:
        """Whether the provider stated the whole length."""
        return self.until <= self.provider_until

    def traffic_share(self, now: float) -> float:
        """Return the share of its normal traffic that the scope may take; 0 during the cooldown and its probe."""
        if self.kind is None:
            missing = self.ramp_up_until - now
            return 1.0 if missing <= 0 else max(1.0 - missing / self._settings.ramp_up, 0.0)
        is_probing = now < self._probe_at + self._settings.probe_timeout
        return 0.0 if self.kind is FailureKind.PERMANENT or now < self.until or is_probing else 1.0

    def probe_until(self) -> float:
        """Return the time at which a probe without a result is given up."""
        return self._probe_at + self._settings.probe_timeout

    @property
    def has_recovered(self) -> bool:
        """Whether no request has failed since one that began during the estimated cooldown succeeded."""
        return self.kind is None or self._estimate_probe_at == math.inf

    @property
    def estimate_probe_until(self) -> float:
        """Time until which no other probe is sent during an estimated cooldown; `-inf` if one may be sent at once."""
        if self.has_recovered:
            return -math.inf
        return max(self._estimate_probe_at + ESTIMATE_PROBE_SECONDS, self._last_failure_at + ESTIMATE_PROBE_PAUSE)

    def on_pick(self, now: float) -> None:
        """Record the pick of this scope for a request. The first one after a cooldown is the probe."""
        if self.kind is not None and self._estimate_probe_at == -math.inf:
            self._estimate_probe_at = now
        if self.state(now) is HealthState.PROBING:
            self._probe_at = now

    def on_success(self, now: float, began: float) -> bool:
        """Record the success of a request, and return whether it changed the cooldown.

        A request that began before the cooldown is over cannot end it.
        """
        if self.kind is None:
            self.failures = max(self.failures - FORGIVEN_BY_SUCCESS, 0.0)
            if now >= self._last_failure_at + self._settings.failure_window:
                self._backoff_steps = 0
            return False
        if self.state(now) is not HealthState.PROBING or began < self.until:
            is_first_success = -math.inf < self._estimate_probe_at <= began
            if is_first_success:
                self._estimate_probe_at = math.inf
            return is_first_success
        self.kind, self.ramp_up_until = None, now + self._settings.ramp_up
        self._probe_at, self.failures = -math.inf, 0.0
        return True

    def on_no_result(self, now: float, began: float) -> bool:
        """Record the end of a request without a result. Return whether it was a probe, so that another may begin."""
        was_estimate_probe = self._estimate_probe_at <= began and now < self._estimate_probe_at + ESTIMATE_PROBE_SECONDS
        if was_estimate_probe:
            self._estimate_probe_at = -math.inf
        if self.state(now) is not HealthState.PROBING or began < self._probe_at or now >= self.probe_until():
            return was_estimate_probe
        self._probe_at = -math.inf
        return True

    def apply_failure(self, failure: Failure, now: float, began: float, credential: str = "") -> bool:
        """Apply a failure of a request with `credential`. Return whether the cooldown changed."""
        if self.kind is FailureKind.PERMANENT or failure.kind is FailureKind.CLIENT:
            return False
        if failure.kind is FailureKind.PERMANENT:
            self.kind, self.reason, self.credential = failure.kind, failure.reason, credential
            self.until = self.provider_until = math.inf
            return True
        if now >= self._last_failure_at + self._settings.failure_window and self.kind is None:
            self._backoff_steps, self.failures = 0, 0.0
        self._last_failure_at = now
        if began >= self._estimate_probe_at or self._estimate_probe_at == math.inf:
            self._estimate_probe_at = -math.inf
        self.failures += 1
        is_slight = failure.kind is FailureKind.TRANSIENT and failure.retry_after is None and self.kind is None
        if is_slight and self.failures <= self._settings.allowed_failures:
            return False
        # Failures during a cooldown count as one: those requests began before the first failure was known.
        is_same_cooldown = self.kind is not None and (now < self.until or began < self.until)
        if not is_same_cooldown:
            self._backoff_steps += 1
        until = now + self._duration(failure)
        is_confirmed_longer = failure.retry_after is not None and until > self.provider_until
        if is_confirmed_longer:
            self.provider_until = until
        if is_same_cooldown and until <= self.until:
            return is_confirmed_longer
        self.kind, self.reason, self.until, self._probe_at = failure.kind, failure.reason, until, -math.inf
        return True

    def merge_update(self, update: CooldownUpdate, now: float) -> bool:
        """Merge the cooldown of another worker; the longer one wins. Return whether this one changed."""
        until = update.until
        if update.kind is None:
            was_active = self.kind is not None
            self.reset(now)
            return was_active
        if until <= now:
            return False
        is_confirmed_longer = update.is_provider_stated and until > self.provider_until
        if is_confirmed_longer:
            self.provider_until = until
        if self.kind is not None and until <= self.until:
            return is_confirmed_longer
        self.kind, self.reason, self.until, self.credential = update.kind, update.reason, until, update.credential
        self._last_failure_at, self._probe_at, self._estimate_probe_at = now, -math.inf, -math.inf
        return True

    def reset(self, now: float) -> None:
        """End the cooldown for an operator. Traffic ramps up."""
        self.kind, self.reason, self.until, self.provider_until = None, "", -math.inf, -math.inf
        self._backoff_steps, self.failures, self._estimate_probe_at = 0, 0.0, -math.inf
        self.credential = ""
        self.ramp_up_until = now + self._settings.ramp_up

    def _duration(self, failure: Failure) -> float:
        """Return the length of the cooldown after `failure`, in seconds."""
        settings = self._settings
        steps = min(self._backoff_steps - 1, MAX_BACKOFF_STEPS)
        backoff = min(settings.initial * settings.multiplier**steps, settings.max)
        seconds = failure.retry_after if failure.retry_after is not None else backoff
        return seconds + self._random() * min(seconds * settings.jitter, settings.max_jitter)
