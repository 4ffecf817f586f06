"""When an account, or one model at it, may not be used: cooldowns, probes, the way back to full traffic, quarantine.

OPEN --held--> HELD --its time is over--> PROBING --one request succeeds--> RAMPING --> OPEN
^                            | fails                          | fails
+----------------------------+--------------------------------+
QUARANTINED, from anywhere, until an operator releases it or its key is another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.classifier import LONGEST_QUOTA, LONGEST_RATE_LIMIT
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.settings_schema.types import Count, Factor, Period, Seconds, Share  # noqa: TC001 - settings are read by them

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.providers.classifier import Failure


@dataclass(frozen=True, slots=True)
class CooldownUpdate:
    """The state of one hold."""

    account: str
    model: str | None
    """None for the account as a whole."""
    kind: FailureKind | None
    """None if an operator has released it."""
    reason: str
    until: float
    """Infinite for one that waits for an operator."""
    is_provider_stated: bool
    """Whether its provider said how long."""
    credential: str = ""
    """The fingerprint of the key that has died; empty if nobody knows, or if it matters to all keys."""


# Beyond it, every hold is the longest.
MOST_STEPS = 30
# So long the others wait for one that goes to an account which only a guess holds.
TRIAL_SECONDS = 1.0
# So much of a failure is forgotten with each success: who fails less than one time in five is never held for that.
FORGIVEN_BY_SUCCESS = 0.25


class HealthState(StrEnum):
    """How far an account is from full traffic."""

    HEALTHY = "open"
    COOLING_DOWN = "held"
    PROBING = "probing"
    RAMPING_UP = "ramping"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class CooldownSettings:
    """How failures are answered."""

    first: Period = 1.0
    """The length of a first hold for which nobody said how long."""
    factor: Factor = 2.0
    """How many times as long each further hold is for which nobody said how long."""
    most: Period = 300.0
    """The longest hold for which nobody said how long."""
    tolerated: Count = 2
    """Transient failures within the forgiving time that are nobody's fault."""
    forgives: Seconds = 60.0
    """The time without a failure after which all is forgotten."""
    jitter: Share = 0.25
    """Which share of a hold it may be longer, so that accounts do not wake up together."""
    most_jitter: Seconds = 2.0
    """How much longer a hold may become by that at most."""
    ramp: Period = 1.0
    """The time from a successful probe to full traffic."""
    probe: Period = 30.0
    """The time after which a probe that tells nothing is given up."""
    longest_rate_limit: Period = LONGEST_RATE_LIMIT
    """For how long an account is held at most when a provider names the end of a rate limit."""
    longest_quota: Period = LONGEST_QUOTA
    """For how long an account is held at most when a provider names the reset of a quota."""


class Cooldown:
    """What keeps one account, or one model at it, from being used. All times are the same clock's, in seconds."""

    __slots__ = (
        "_at",
        "_estimate_probe",
        "_failures",
        "_probe",
        "_random",
        "_settings",
        "_step",
        "credential",
        "kind",
        "provider_until",
        "ramp_up_until",
        "reason",
        "until",
    )

    def __init__(self, settings: CooldownSettings, random: Callable[[], float]) -> None:
        self._settings, self._random = settings, random
        self.until = -math.inf
        self.kind: FailureKind | None = None
        self.reason = ""
        self.credential = ""
        """Of what has died: the fingerprint of its key, if anybody knows."""
        self.provider_until = -math.inf
        """Until when its provider said; what goes beyond is a guess of ours."""
        self._step = 0
        self._failures = 0.0
        self._at = -math.inf
        self._probe = -math.inf
        self._estimate_probe = -math.inf
        """When the first went there since it failed last, to see; infinite as soon as one has come back well."""
        self.ramp_up_until = -math.inf
        """When it comes, or came, to full traffic after a hold."""

    def state(self, now: float) -> HealthState:
        """Return how far it is from full traffic."""
        if self.kind is None:
            return HealthState.RAMPING_UP if now < self.ramp_up_until else HealthState.HEALTHY
        if self.kind is FailureKind.PERMANENT:
            return HealthState.QUARANTINED
        return HealthState.COOLING_DOWN if now < self.until else HealthState.PROBING

    @property
    def is_provider_stated(self) -> bool:
        """Whether its provider said how long, all of it."""
        return self.until <= self.provider_until

    @property
    def failures(self) -> float:
        """How often it has failed lately, less for each success since."""
        return self._failures

    def traffic_share(self, now: float) -> float:
        """Return which share of its traffic it may have: nothing while it is held, or while its probe is under way."""
        if self.kind is None:
            missing = self.ramp_up_until - now
            return 1.0 if missing <= 0 else max(1.0 - missing / self._settings.ramp, 0.0)
        if self.kind is FailureKind.PERMANENT or now < self.until or now < self._probe + self._settings.probe:
            return 0.0
        return 1.0

    def probe_until(self) -> float:
        """Return when a probe that tells nothing is given up."""
        return self._probe + self._settings.probe

    @property
    def estimate_probe_until(self) -> float:
        """Until when those that need not go there wait for the one that has gone to see."""
        return self._estimate_probe + TRIAL_SECONDS if self._estimate_probe < math.inf else -math.inf

    def on_pick(self, now: float) -> None:
        """Know that a request goes there: the first one after a hold is its probe."""
        if self.kind is not None and self._estimate_probe == -math.inf:
            self._estimate_probe = now
        if self.state(now) is HealthState.PROBING:
            self._probe = now

    def on_success(self, now: float, began: float) -> bool:
        """Know of a success, and return whether it changes anything: who began before a hold says nothing of it."""
        if self.kind is None:
            self._failures = max(self._failures - FORGIVEN_BY_SUCCESS, 0.0)
            if now >= self._at + self._settings.forgives:
                self._step = 0
            return False
        if self.state(now) is not HealthState.PROBING or began < self.until:
            is_news = -math.inf < self._estimate_probe <= began
            if is_news:
                self._estimate_probe = math.inf
            return is_news
        self.kind, self.ramp_up_until, self._probe, self._failures = None, now + self._settings.ramp, -math.inf, 0.0
        return True

    def on_no_result(self, now: float, began: float) -> bool:
        """Know that a request ended that tells nothing; return whether others waited for it, and another may go."""
        was_trial = self._estimate_probe <= began and now < self.estimate_probe_until
        if was_trial:
            self._estimate_probe = -math.inf
        if self.state(now) is not HealthState.PROBING or began < self._probe or now >= self.probe_until():
            return was_trial
        self._probe = -math.inf
        return True

    def apply_failure(self, failure: Failure, now: float, began: float, credential: str = "") -> bool:
        """Know of a failure with a key, and believe it; return whether it has changed anything."""
        if self.kind is FailureKind.PERMANENT or failure.kind is FailureKind.CLIENT:
            return False
        if failure.kind is FailureKind.PERMANENT:
            self.kind, self.reason, self.credential = failure.kind, failure.reason, credential
            self.until = self.provider_until = math.inf
            return True
        if now >= self._at + self._settings.forgives and self.kind is None:
            self._step, self._failures = 0, 0.0
        self._at = now
        if began >= self._estimate_probe or self._estimate_probe == math.inf:
            self._estimate_probe = -math.inf
        self._failures += 1
        is_slight = failure.kind is FailureKind.TRANSIENT and failure.retry_after is None and self.kind is None
        if is_slight and self._failures <= self._settings.tolerated:
            return False
        # Of all that fail in one hold, only the first is one more failure: the others had begun before they could know.
        is_open = self.kind is not None and (now < self.until or began < self.until)
        if not is_open:
            self._step += 1
        until = now + self._duration(failure)
        is_news = failure.retry_after is not None and until > self.provider_until
        if is_news:
            self.provider_until = until
        if is_open and until <= self.until:
            return is_news
        self.kind, self.reason, self.until, self._probe = failure.kind, failure.reason, until, -math.inf
        return True

    def merge_update(self, update: CooldownUpdate, now: float) -> bool:
        """Know what another worker says; return whether it has changed anything: the longer hold wins here too."""
        until = update.until
        if update.kind is None:
            is_news = self.kind is not None
            self.reset(now)
            return is_news
        if until <= now:
            return False
        is_surer = update.is_provider_stated and until > self.provider_until
        if is_surer:
            self.provider_until = until
        if self.kind is not None and until <= self.until:
            return is_surer
        self.kind, self.reason, self.until, self.credential = update.kind, update.reason, until, update.credential
        self._at, self._probe, self._estimate_probe = now, -math.inf, -math.inf
        return True

    def reset(self, now: float) -> None:
        """Let it be used again, as an operator says."""
        self.kind, self.reason, self.until, self.provider_until = None, "", -math.inf, -math.inf
        self._step, self._failures, self._estimate_probe = 0, 0.0, -math.inf
        self.credential = ""
        self.ramp_up_until = now + self._settings.ramp

    def _duration(self, failure: Failure) -> float:
        settings = self._settings
        backoff = min(settings.first * settings.factor ** min(self._step - 1, MOST_STEPS), settings.most)
        told = failure.retry_after if failure.retry_after is not None else backoff
        return told + self._random() * min(told * settings.jitter, settings.most_jitter)
