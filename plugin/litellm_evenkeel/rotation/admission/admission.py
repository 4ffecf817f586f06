"""Admission: a request is served at once, after a wait in the queue, or rejected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.admission.queue import AdmissionQueue
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.model.request import Probes
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates, CandidateCache, Deployment

# Maximum wait of a first attempt for room beyond a local share, for a probe or for a lease. Then it is made anyway.
NEGOTIABLE_SECONDS = 1.0
# Always wait for accounts that recover this soon, even if the queue timeout is shorter: workers need a moment to share
# limits and cooldowns.
GRACE_SECONDS = 0.25
# How often the candidates of a waiting request may be replaced.
MAX_REPLACEMENTS = 4


@dataclass(slots=True)
class AdmissionResult:
    """Outcome of an admission."""

    outcome: Pick | NoCapacity
    candidates: CachedCandidates
    """The candidates of the pick: a changed list is resolved anew."""
    waited: float
    """Seconds in the queue."""


class Admission:
    """Admits the requests of one worker."""

    def __init__(
        self,
        pool: AccountPool,
        candidates: CandidateCache,
        *,
        queue_timeout: float,
        clock: Callable[[], float],
        on_queued: Callable[[float, bool], None],
        errors: Callable[[str, Exception], None],
    ) -> None:
        self._pool, self._candidates, self.queue_timeout = pool, candidates, queue_timeout
        self._clock, self._on_queued = clock, on_queued
        self.queue = AdmissionQueue(pool, errors)

    async def acquire(
        self,
        cached: CachedCandidates,
        deployments: Sequence[Deployment],
        request: PickRequest,
        waited: float,
        used_attempts: float = 0.0,
    ) -> AdmissionResult:
        """Pick a deployment as soon as one is available, within the queue timeout.

        `waited` is the time that earlier attempts of the request spent in the queue, in seconds. `used_attempts` is the
        share of its retries that it has used: with the last one, it waits until the probe of another request succeeds,
        or until the queue timeout is over.
        """
        probes_after = used_attempts * self.queue_timeout
        if probes_after > waited:
            request = request._replace(probes=Probes.AFTER_COOLDOWN)
        outcome = self.try_now(cached, deployments, request)
        if not isinstance(outcome, Pick) and self._candidates.has_changed(cached, deployments):
            # A new key, or a higher limit, of a deployment that was not compared yet.
            cached = self._candidates.resolve(cached.candidates.name, deployments)
            outcome = self.try_now(cached, deployments, request)
        if isinstance(outcome, Pick):
            return AdmissionResult(outcome, cached, 0.0)
        attempt = _Wait(cached, deployments, waited, probes_after)
        outcome = await self._wait(attempt, request, outcome)
        if isinstance(outcome, NoCapacity) and outcome.is_lease_pending:
            # The lease was not granted: now another priority, or another account than the session's, may serve it.
            request = request._replace(is_final_try=True)
            last = self.try_now(cached, deployments, request)
            outcome = last if isinstance(last, Pick) else await self._wait(attempt, request, last)
        return AdmissionResult(outcome, cached, attempt.waited - waited)

    def try_now(
        self, cached: CachedCandidates, deployments: Sequence[Deployment], request: PickRequest
    ) -> Pick | NoCapacity | None:
        """Pick without a wait. Return `None` if other requests come first."""
        candidates, now = cached.candidates, self._clock()
        if candidates.fair_share.admission_delay(request.client, now) > 0:
            # There may be no other request that keeps the snapshot fresh.
            self._pool.ensure_fresh(candidates, now)
            return None
        if self.queue.is_queued(candidates) and not self._pool.serves_drained_session(candidates, request):
            return None
        outcome = self._pick(cached, deployments, request)
        if isinstance(outcome, Pick):
            candidates.fair_share.record_pick(request.client)
        return outcome

    async def _wait(self, attempt: _Wait, request: PickRequest, no_capacity: NoCapacity | None) -> Pick | NoCapacity:
        candidates, now = attempt.cached.candidates, self._clock()
        is_over_share = no_capacity is None and candidates.fair_share.delay(request.client, now) > 0
        no_capacity = no_capacity or self._pool.cached_no_capacity(candidates, request)
        timeout = self._timeout(attempt, no_capacity, is_final_try=request.is_final_try)
        if timeout is None:
            assert no_capacity is not None
            return no_capacity
        if timeout > 0:
            outcome = await self._queue_until(attempt, request, timeout)
            seconds = self._clock() - now
            attempt.waited += seconds
            self._on_queued(seconds, isinstance(outcome, Pick))
            if isinstance(outcome, Pick):
                return outcome
            no_capacity = outcome
        if no_capacity is not None and no_capacity.blocker is not None and no_capacity.blocker.may_be_exceeded:
            return self._pick(attempt.cached, attempt.deployments, request._replace(is_final_try=True))
        if no_capacity is None and not is_over_share:
            # A request is rejected only after a look at the candidates, unless its client is over its fair share.
            return self._pick(attempt.cached, attempt.deployments, request)
        return no_capacity or NoCapacity(1.0, candidates.saturation.blocker)

    async def _queue_until(self, attempt: _Wait, request: PickRequest, seconds: float) -> Pick | NoCapacity:
        """Wait in the queue for up to `seconds` in total, even if the candidates are replaced during the wait."""
        now = self._clock()
        cached, ends, probes_from = attempt.cached, now + seconds, now + attempt.probes_after - attempt.waited
        for _ in range(MAX_REPLACEMENTS):
            matches_at = self._candidates.matches_at(cached, attempt.deployments)
            served = await self.queue.wait(cached.candidates, request, seconds, matches_at, probes_from)
            outcome = served or self._pick(cached, attempt.deployments, request)
            seconds = ends - self._clock()
            if served is not None or isinstance(outcome, Pick) or seconds <= 0:
                break
            cached = self._candidates.resolve(cached.candidates.name, attempt.deployments)
        return outcome

    def _timeout(self, attempt: _Wait, no_capacity: NoCapacity | None, *, is_final_try: bool) -> float | None:
        """Return for how many seconds a request waits, or `None` if waiting does not help."""
        timeout = self.queue_timeout - attempt.waited
        if no_capacity is None or no_capacity.blocker is None:
            return timeout
        if no_capacity.blocker.reason is BlockReason.ESTIMATE_PROBE:
            return min(timeout, max(attempt.probes_after - attempt.waited, NEGOTIABLE_SECONDS))
        if no_capacity.blocker.may_be_exceeded:
            return min(timeout, NEGOTIABLE_SECONDS)
        if no_capacity.is_lease_pending and not is_final_try:
            return max(min(timeout, NEGOTIABLE_SECONDS), GRACE_SECONDS)
        if no_capacity.available_in <= GRACE_SECONDS:
            return max(timeout, GRACE_SECONDS)
        is_hopeless = no_capacity.available_in > timeout and not no_capacity.blocker.may_end_any_time
        return None if is_hopeless else timeout

    def _pick(
        self, cached: CachedCandidates, deployments: Sequence[Deployment], request: PickRequest
    ) -> Pick | NoCapacity:
        outcome = self._pool.pick(cached.candidates, request, self._candidates.matches_at(cached, deployments))
        if outcome is None:
            # The picked deployment was changed.
            cached = self._candidates.resolve(cached.candidates.name, deployments)
            outcome = self._pool.pick(cached.candidates, request, self._candidates.matches_at(cached, deployments))
        return outcome or NoCapacity(0.0, None)


@dataclass(slots=True)
class _Wait:
    """One request that waits."""

    cached: CachedCandidates
    deployments: Sequence[Deployment]
    waited: float
    """Seconds in the queue, earlier attempts of the request included."""
    probes_after: float
    """Seconds in the queue after which the request may be any probe."""
