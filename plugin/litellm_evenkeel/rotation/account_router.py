"""Router of requests to accounts: picks the deployment, and learns from the outcome of each attempt."""

from __future__ import annotations

import asyncio
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.providers.limit_headers import parse_limit_headers
from litellm_evenkeel.rotation.admission.admission import Admission
from litellm_evenkeel.rotation.affinity.rate_limit_wait import met_rate_limit
from litellm_evenkeel.rotation.affinity.session_affinity import SessionAffinity
from litellm_evenkeel.rotation.attempts import Attempt, AttemptTracker, ClientRequest, RetryState
from litellm_evenkeel.rotation.controls.control_table import ControlTable
from litellm_evenkeel.rotation.model.control import ControlKind
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.pool.candidate_cache import CandidateCache
from litellm_evenkeel.rotation.pool.snapshot_refresher import SnapshotRefresher
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.usage_estimator import UsageEstimator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.providers.classifier import Failure
    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.affinity.session_affinity import Preference
    from litellm_evenkeel.rotation.attempts import RequestAttempts
    from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
    from litellm_evenkeel.rotation.observer import Observer
    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates, Deployment
    from litellm_evenkeel.rotation.quota_sharing.coordinator import QuotaCoordinator
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.settings import RotationSettings
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# An event loop may end a wait this much too early: uvloop rounds to milliseconds.
TIMER_SECONDS = 0.002
# The length of LiteLLM's hash of a client's key. A value of another length is a key that is not hashed yet.
LITELLM_HASH_DIGITS = 64
OWN_HASH_DIGITS = 16


class AccountRouter:
    """Rotation of one event loop: candidates, queue, sessions, attempts and the state of all accounts."""

    def __init__(
        self,
        settings: RotationSettings,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        spec: Callable[[Deployment, str], DeploymentSpec],
        observer: Observer,
        sharing: QuotaCoordinator | None = None,
        affinity: SessionAffinity | None = None,
        controls: ControlTable | None = None,
        errors: Callable[[str, Exception], None] = lambda _where, _error: None,
    ) -> None:
        self.settings, self._clock, self._observer = settings, clock, observer
        self.controls = controls or ControlTable(clock)
        self._refresher = SnapshotRefresher(settings.snapshot_ttl, clock, observer.on_snapshot)
        self.pool = AccountPool(
            settings,
            clock=clock,
            random=random,
            refresh=self._refresher,
            on_capacity=self._on_capacity,
            broadcast=sharing.broadcast if sharing else None,
            make_window=sharing.make_window if sharing else None,
            share_slots=sharing.share_slots if sharing else None,
            pause_of=self.controls.pause_of,
        )
        self.controls.on_change = self._apply_controls
        self.candidates = CandidateCache(
            self.pool, lambda deployment, model: self.controls.applied_to(spec(deployment, model))
        )
        self.admission = Admission(
            self.pool,
            self.candidates,
            queue_timeout=settings.queue_timeout,
            clock=clock,
            on_queued=lambda seconds, is_served: observer.on_queued(seconds, is_served=is_served),
            errors=errors,
        )
        self.affinity = affinity or SessionAffinity(settings.affinity, clock=clock)
        self.attempts = AttemptTracker(self, errors)
        self.estimator = UsageEstimator(settings.expected_output)
        self._waited_for: set[str] = set()
        """Accounts whose rate limit a request waits for."""

    def use(self, settings: RotationSettings) -> None:
        """Use other settings from now on. Those of shared state and of stores stay the same."""
        self.settings = settings
        self._refresher.snapshot_ttl = settings.snapshot_ttl
        self.admission.queue_timeout = settings.queue_timeout
        self.affinity.use(settings.affinity)
        self.pool.use(settings)

    def _apply_controls(self, account: str, kinds: frozenset[ControlKind]) -> None:
        if ControlKind.TRAFFIC in kinds:
            self.pool.apply_pause(account)
        if kinds - {ControlKind.TRAFFIC}:
            self.pool.retire_sets_of(account)

    async def pick(
        self,
        model: str,
        deployments: Sequence[Deployment],
        messages: object,
        kwargs: Mapping[str, Any],
        cached: CachedCandidates | None = None,
    ) -> Pick | NoCapacity:
        """Pick a deployment for a request, or return why there is none.

        `kwargs` is the request as LiteLLM passes it on; `cached` are its candidates, if they were looked up already.
        """
        began = time.perf_counter()
        client_request = ClientRequest.of(kwargs)
        attempts, retry_state = self.attempts.attempts_of(client_request), RetryState.of(kwargs)
        if attempts.current is not None:
            self.attempts.end_current(attempts, retry_state)
        cached = cached or self.candidates.lookup(model, deployments)
        skipped = kwargs.get("_retry_skipped_deployment_ids")
        request = PickRequest(
            self.estimator.estimate(model, kwargs, messages),
            attempts.excluded.union(skipped) if skipped else attempts.excluded,
            is_stream=bool(kwargs.get("stream")),
            client=_client_of(kwargs),
        )
        preference = await self.affinity.prefer(cached.candidates, request, kwargs, messages)
        if await self._waits_for_rate_limit(preference, cached.candidates, attempts):
            request = request._replace(excluded=attempts.excluded.union(skipped or ()))
            preference = await self.affinity.prefer(cached.candidates, request, kwargs, messages)
        admission = await self.admission.acquire(
            cached, deployments, preference.request, attempts.waited, _used_attempts_of(kwargs)
        )
        attempts.waited += admission.waited
        pick = admission.outcome
        if isinstance(pick, NoCapacity):
            self._observer.on_rejection(model, pick)
            return pick
        outcome = self.affinity.record(preference, pick, admission.candidates.candidates)
        attempts.current = Attempt(pick, model, client_request, outcome, retry_state)
        client_request.record_pick(pick.deployment.spec.account, pick.reason)
        self._observer.on_pick(pick, time.perf_counter() - began)
        return pick

    def preview(self, cached: CachedCandidates, deployments: Sequence[Deployment]) -> int | None:
        """Return the position of a deployment that is available now, `None` if none is. Nothing is reserved."""
        return self.pool.preview(cached.candidates, self.candidates.matches_at(cached, deployments))

    async def _waits_for_rate_limit(
        self, preference: Preference, candidates: CandidateSet, attempts: RequestAttempts
    ) -> bool:
        """Wait for a rate limit of the session's account, if that is worth it. Return whether the request waited.

        One request waits for an account at a time: after the rate limit, only one is sent as a probe. If no other
        account has capacity, the request waits in the queue instead.
        """
        seconds, account = self.affinity.seconds_to_wait(preference, candidates, attempts.waited), preference.pinned
        if not seconds or account is None or seconds > self.settings.queue_timeout - attempts.waited:
            return False
        # The account may serve the request that met its rate limit, but not one that failed there otherwise.
        usable = {
            state.spec.id
            for state in candidates.deployments_at(account)
            if state.spec.id not in attempts.excluded or met_rate_limit(state)
        }
        is_queue_better = self.admission.queue.is_queued(candidates) or not candidates.has_available_besides(account)
        if not usable or is_queue_better or account in self._waited_for:
            return False
        self._waited_for.add(account)
        try:
            await asyncio.sleep(seconds + TIMER_SECONDS)
        finally:
            self._waited_for.discard(account)
        attempts.waited += seconds
        attempts.excluded -= usable
        self._observer.on_session_wait(seconds)
        return True

    def on_failure(self, deployment: str, failure: Failure, headers: object, wall: float) -> DeploymentState | None:
        """Record that the current task's attempt at `deployment` failed. `wall` is the Unix time.

        Return the deployment, or `None` if the attempt is unknown.
        """
        attempt = self.attempts.failed(deployment)
        if attempt is None:
            return None
        self._record_failure(attempt, failure, headers, wall)
        return attempt.pick.deployment

    def on_stream_end(self, client_request: ClientRequest, deployment: str | None, usage: ResponseUsage) -> None:
        """Record the end of a stream. Other responses are recorded before their event."""
        attempt = self.attempts.stream_ended(client_request, deployment)
        if attempt is not None:
            self.on_success(attempt, usage)

    def on_stream_failure(self, client_request: ClientRequest, failure: Failure, headers: object, wall: float) -> None:
        """Record that a stream broke off."""
        attempt = self.attempts.stream_broke(client_request)
        if attempt is not None:
            self._record_failure(attempt, failure, headers, wall)

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Record a response."""
        try:
            reservation = attempt.pick.reservation
            if usage.is_from_cache:
                self.pool.cancel(reservation)
                self._observer.on_success(attempt, usage)
                return
            used = Usage(1.0, usage.total_tokens, usage.dollars) if usage.is_known else reservation.usage
            readings = parse_limit_headers(usage.headers, now=time.time()) if usage.headers else ()
            # The latency of a stream is the time until it began: its length does not depend on the account.
            ended = self._clock() if reservation.stream_started_at is None else reservation.stream_started_at
            self.pool.settle(reservation, used, latency=ended - reservation.started_at, readings=readings)
            if usage.is_known:
                self.estimator.observe(attempt.model_group, usage.output_tokens, usage.total_tokens, usage.dollars)
                if attempt.outcome is not None:
                    savings = self.affinity.sessions.savings
                    savings.observe(attempt.outcome, int(usage.prompt_tokens), int(usage.cached_tokens))
            self._observer.on_success(attempt, usage)
        finally:
            self.release(attempt)

    def on_stream_start(self, attempt: Attempt, headers: Mapping[str, Any] | None) -> None:
        """Record that a stream began, with the limits that its headers state."""
        readings = parse_limit_headers(headers, now=time.time()) if headers else ()
        self.pool.on_stream_start(attempt.pick.reservation, readings)

    def on_lost(self, attempt: Attempt) -> None:
        """Release the reservation of an attempt whose end LiteLLM does not report."""
        self.pool.release(attempt.pick.reservation)
        self._observer.on_lost(attempt)

    def on_unused(self, attempt: Attempt) -> None:
        """Cancel the reservation of a pick that no request followed."""
        self.pool.cancel(attempt.pick.reservation)

    def release(self, attempt: Attempt) -> None:
        """Release the reservation of an attempt if it is still open: no error may keep it."""
        self.pool.release(attempt.pick.reservation)

    def _record_failure(self, attempt: Attempt, failure: Failure, headers: object, wall: float) -> None:
        try:
            readings = parse_limit_headers(headers, now=wall) if headers else ()
            failure = self.pool.fail(attempt.pick.reservation, failure, readings)
        finally:
            self.release(attempt)
        if attempt.pick.deployment.account.cooldown.kind is FailureKind.PERMANENT:
            self.affinity.forget_account(attempt.pick.deployment.spec.account)
        self._observer.on_failure(attempt, failure)

    def _on_capacity(self, candidates: CandidateSet) -> None:
        self.admission.queue.wake(candidates)


def _used_attempts_of(request: Mapping[str, Any]) -> float:
    """Return the share of its retries that a request has used, as LiteLLM counts them; 0 if it has none."""
    for name in ("litellm_metadata", "metadata"):
        metadata = request.get(name)
        if metadata and isinstance(metadata, dict):
            used, allowed = metadata.get("attempted_retries"), metadata.get("max_retries")
            if isinstance(used, int) and isinstance(allowed, int) and allowed > 0:
                return min(used / allowed, 1.0)
    return 0.0


def _client_of(request: Mapping[str, Any]) -> str:
    """Return the hash of the client's key; empty without a key: all clients without a key count as a single one.

    Some kinds of authentication leave the key itself in the request. It is hashed, and never stored.
    """
    for name in ("litellm_metadata", "metadata"):
        metadata = request.get(name)
        if metadata and isinstance(metadata, dict):
            key = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
            if isinstance(key, str):
                if len(key) == LITELLM_HASH_DIGITS:
                    return key
                return sha256(key.encode(errors="surrogatepass")).hexdigest()[:OWN_HASH_DIGITS]
    return ""
