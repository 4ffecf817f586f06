"""The way of a request through the rotation, without LiteLLM: chosen, waited for, answered or failed, learned from."""

from __future__ import annotations

import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.providers.limit_headers import parse_limit_headers
from litellm_evenkeel.rotation.admission.queue import AdmissionQueue
from litellm_evenkeel.rotation.affinity.policy import AffinityDecision, PinnedAccount, decide
from litellm_evenkeel.rotation.affinity.session_key import SessionKeyReader
from litellm_evenkeel.rotation.affinity.session_table import SessionTable
from litellm_evenkeel.rotation.attempts import Attempt, AttemptTracker, ClientRequest
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.pool.candidate_cache import CandidateCache
from litellm_evenkeel.rotation.pool.snapshot_refresher import SnapshotRefresher
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.selection.selector import pending_lease, select_pinned
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.rotation.state.quota_window import PARTS
from litellm_evenkeel.rotation.usage_estimator import UsageEstimator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.providers.classifier import Failure
    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.affinity.cache_savings import SessionOutcome
    from litellm_evenkeel.rotation.affinity.replicator import SessionReplicator
    from litellm_evenkeel.rotation.affinity.session_key import SessionKey
    from litellm_evenkeel.rotation.attempts import RequestAttempts
    from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.observer import Observer
    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates, Deployment
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.settings import RotationSettings
    from litellm_evenkeel.rotation.state.account_scope import AccountScope, ScopeKey
    from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate
    from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

NO_USAGE = Usage(0.0, 0.0, 0.0)
HASH_DIGITS = 64
# So long a request waits where only a part of the limits is used up, or only a guess is being tried out; then it goes.
PART_SECONDS = 1.0
# Whoever opens so soon is waited for, however short the patience.
GRACE_SECONDS = 0.25
CLIENT_DIGITS = 16
# Candidates may change so often while a request waits.
MOST_LOOKS = 4


class QuotaSharing(Protocol):
    """What workers share."""

    def broadcast(self, update: CooldownUpdate) -> None:
        """Tell the others of a hold."""

    def make_window(self, key: ScopeKey, limit: RateLimit) -> QuotaWindow:
        """Return a limit that all of them use up together."""

    def share_slots(self, scope: AccountScope) -> None:
        """Have the requests under way at a side bounded for all of them together."""


class AccountRouter:
    """The rotation of one event loop."""

    def __init__(
        self,
        settings: RotationSettings,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        seat: Callable[[Deployment, str], DeploymentSpec],
        observer: Observer,
        shared: QuotaSharing | None = None,
        sessions: SessionTable | None = None,
        replicator: SessionReplicator | None = None,
        errors: Callable[[str, Exception], None] = lambda _where, _error: None,
    ) -> None:
        self.settings, self._clock, self._observer, self._replicator = settings, clock, observer, replicator
        refreshing = SnapshotRefresher(clock, observer.on_snapshot)
        self.pool = AccountPool(
            settings,
            clock=clock,
            random=random,
            refresh=refreshing,
            on_capacity=self._opened,
            broadcast=shared.broadcast if shared else None,
            make_window=shared.make_window if shared else None,
            share_slots=shared.share_slots if shared else None,
        )
        refreshing.attach(self.pool)
        self.queue = AdmissionQueue(self.pool, errors)
        self.candidates = CandidateCache(self.pool, seat, is_cached=settings.route_cache)
        self.attempts = AttemptTracker(self, errors)
        self.sessions = sessions or SessionTable(settings.sticky)
        if replicator is not None:
            self.sessions.on_change = replicator.put
        self.estimator = UsageEstimator(settings.expected_output)
        self._keys = SessionKeyReader(settings.sticky)

    async def pick(
        self,
        model: str,
        deployments: Sequence[Deployment],
        messages: object,
        request: Mapping[str, Any],
        cached: CachedCandidates | None = None,
    ) -> Pick | NoCapacity:
        """Return which of the candidates a request gets, or why none; `known` is what they were recognised as."""
        began = time.perf_counter()
        client_request = ClientRequest.of(request)
        attempts = self.attempts.attempts_of(client_request)
        if attempts.current is not None:
            self.attempts.end_last(attempts)
        cached = cached or self.candidates.lookup(model, deployments)
        key = self._keys.read(model, request, messages)
        now = self._clock()
        pinned = None if key is None else self.sessions.account_of(key, now)
        if key is not None and pinned is None and self._replicator is not None:
            pinned = await self._pinned_elsewhere(key, self._replicator)
            now = self._clock()
        skipped = request.get("_retry_skipped_deployment_ids")
        tried = attempts.excluded.union(skipped) if skipped else attempts.excluded
        decision = None if key is None or pinned is None else self._advice(cached.candidates, key, pinned, tried, now)
        pick_request = PickRequest(
            self.estimator.estimate(model, request, messages),
            tried,
            pinned if decision is not None and decision.follows else None,
            is_stream=bool(request.get("stream")),
            client=_client(request),
        )
        if key is not None and decision is not None:
            pick_request = self.following(cached.candidates, key, pick_request, now)
        found = self._at_once(cached, deployments, pick_request)
        if not isinstance(found, Pick) and self.candidates.has_changed(cached, deployments):
            # A new key, or a higher limit, of one that was not compared yet.
            cached = self.candidates.resolve(model, deployments)
            found = self._at_once(cached, deployments, pick_request)
        if not isinstance(found, Pick):
            found = await self._in_time(cached, deployments, pick_request, attempts, found)
            if isinstance(found, NoCapacity):
                self._observer.on_rejection(model, found)
                return found
        outcome = None if key is None else self._chosen(cached.candidates, key, pick_request, found, pinned, decision)
        attempts.current = Attempt(found, model, client_request, outcome)
        client_request.record_pick(found.deployment.spec.account, found.reason)
        self._observer.on_pick(found, model, time.perf_counter() - began)
        return found

    def on_failure(self, deployment: str, failure: Failure, headers: object, wall: float) -> None:
        """Know that the attempt that the current task makes at a deployment has failed."""
        attempt = self.attempts.failed(deployment)
        if attempt is not None:
            self._record_failure(attempt, failure, headers, wall)

    def on_stream_end(self, client_request: ClientRequest, deployment: str | None, usage: ResponseUsage) -> None:
        """Know of the event at the end of a stream; other answers have been told before theirs."""
        attempt = self.attempts.stream_ended(client_request, deployment)
        if attempt is not None:
            self.on_success(attempt, usage)

    def on_stream_failure(self, client_request: ClientRequest, failure: Failure, headers: object, wall: float) -> None:
        """Know of the event after a stream that broke off."""
        attempt = self.attempts.stream_broke(client_request)
        if attempt is not None:
            self._record_failure(attempt, failure, headers, wall)

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Learn from an answer."""
        try:
            self._record_success(attempt, usage)
        finally:
            self.release(attempt)

    def on_stream_start(self, attempt: Attempt, headers: Mapping[str, Any] | None) -> None:
        """Know that an answer has begun, and learn from its headers."""
        self.pool.on_stream_start(
            attempt.pick.reservation, parse_limit_headers(headers, now=time.time()) if headers else ()
        )

    def on_lost(self, attempt: Attempt) -> None:
        """Give back what was reserved for an attempt of whose end nobody tells."""
        self.pool.release(attempt.pick.reservation)
        self._observer.on_lost(attempt)

    def release(self, attempt: Attempt) -> None:
        """Give back what was reserved for an attempt if it still is: nothing that goes wrong may keep it."""
        self.pool.release(attempt.pick.reservation)

    def _record_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        reservation = attempt.pick.reservation
        if usage.is_from_cache:
            self.pool.settle(reservation, NO_USAGE, is_success=False)
            return
        used = Usage(1.0, usage.total_tokens, usage.dollars) if usage.is_known else reservation.usage
        told = parse_limit_headers(usage.headers, now=time.time()) if usage.headers else ()
        # Streams take as long as they are long: of them, what counts is how soon they began.
        ended = self._clock() if reservation.stream_started_at is None else reservation.stream_started_at
        self.pool.settle(reservation, used, latency=ended - reservation.started_at, readings=told)
        if usage.is_known:
            self.estimator.observe(attempt.model_group, usage.output_tokens, usage.total_tokens, usage.dollars)
            if attempt.outcome is not None:
                self.sessions.observe_cache(attempt.outcome, int(usage.prompt_tokens), int(usage.cached_tokens))
        self._observer.on_success(attempt, usage)

    def _record_failure(self, attempt: Attempt, failure: Failure, headers: object, wall: float) -> None:
        try:
            told = parse_limit_headers(headers, now=wall) if headers else ()
            failure = self.pool.fail(attempt.pick.reservation, failure, told)
        finally:
            self.release(attempt)
        if attempt.pick.deployment.account.cooldown.kind is FailureKind.PERMANENT:
            self.forget_sessions(attempt.pick.deployment.spec.account)
        self._observer.on_failure(attempt, failure)

    def pin(
        self, candidates: CandidateSet, request: Mapping[str, Any], pick_request: PickRequest
    ) -> tuple[str, AffinityDecision, PickRequest] | None:
        """Return where a request's session is pinned as far as is known here, whether it would go there, and it all."""
        key = self._keys.read(candidates.name, request)
        now = self._clock()
        pinned = None if key is None else self.sessions.account_of(key, now)
        if key is None or pinned is None:
            return None
        decision = self._advice(candidates, key, pinned, pick_request.excluded, now)
        pick_request = pick_request._replace(preferred_account=pinned if decision.follows else None)
        return pinned, decision, self.following(candidates, key, pick_request, now)

    def following(self, candidates: CandidateSet, key: SessionKey, request: PickRequest, now: float) -> PickRequest:
        """Return what is asked for, at the account to which the session goes while its own cannot be used."""
        meanwhile = self.sessions.fallback_of(key, now)
        # On its way back it may be used, or not: then the session stays where it is.
        if (
            meanwhile is None
            or select_pinned(candidates, request, now, _never) is not None
            or pending_lease(candidates, request, now)
        ):
            return request
        is_well = self._advice(candidates, key, meanwhile, request.excluded, now).follows
        return request._replace(preferred_account=meanwhile) if is_well else request

    def forget_sessions(self, account: str) -> None:
        """Let the sessions of an account go elsewhere for good."""
        self.sessions.forget_account(account)
        if self._replicator is not None:
            self._replicator.forget_account(account)

    def _at_once(
        self, cached: CachedCandidates, deployments: Sequence[Deployment], request: PickRequest
    ) -> Pick | NoCapacity | None:
        """Return what there is without a wait; None where others come first."""
        candidates, now = cached.candidates, self._clock()
        if candidates.fair_share.admission_delay(request.client, now) > 0:
            # Nobody may be left who makes a pick, and with it a newer snapshot.
            self.pool.ensure_fresh(candidates, now)
            return None
        if self.queue.is_queued(candidates):
            return None
        found = self._picked(cached, deployments, request)
        if isinstance(found, Pick):
            candidates.fair_share.record_pick(request.client, now)
        return found

    async def _in_time(
        self,
        cached: CachedCandidates,
        deployments: Sequence[Deployment],
        request: PickRequest,
        attempts: RequestAttempts,
        no_capacity: NoCapacity | None,
    ) -> Pick | NoCapacity:
        """Return what there is as soon as the terms allow to wait, after there was nothing at once."""
        found = await self._waited_for(cached, deployments, request, attempts, no_capacity)
        if isinstance(found, NoCapacity) and found.is_lease_pending:
            # What had only to be granted was not: then another tier serves, or another account than the session's.
            request = request._replace(is_final_try=True)
            pressing = self._at_once(cached, deployments, request)
            if isinstance(pressing, Pick):
                return pressing
            found = await self._waited_for(cached, deployments, request, attempts, pressing)
        return found

    async def _waited_for(
        self,
        cached: CachedCandidates,
        deployments: Sequence[Deployment],
        request: PickRequest,
        attempts: RequestAttempts,
        no_capacity: NoCapacity | None,
    ) -> Pick | NoCapacity:
        candidates, now = cached.candidates, self._clock()
        is_held = no_capacity is None and candidates.fair_share.delay(request.client, now) > 0
        no_capacity = no_capacity or self.pool.cached_no_capacity(candidates, request)
        patience = self._patience(attempts, no_capacity, is_pressing=request.is_final_try)
        if patience is None:
            assert no_capacity is not None
            return no_capacity
        if patience > 0:
            found = await self._waited(cached, deployments, request, patience)
            passed = self._clock() - now
            attempts.waited += passed
            self._observer.on_queued(candidates.name, passed, is_served=isinstance(found, Pick))
            if isinstance(found, Pick):
                return found
            no_capacity = found
        if no_capacity is not None and no_capacity.blocker is not None and no_capacity.blocker.may_be_exceeded:
            return self._picked(cached, deployments, request._replace(is_final_try=True))
        if no_capacity is None and not is_held:
            # Nobody is refused without a look, unless for what others need.
            return self._picked(cached, deployments, request)
        return no_capacity or NoCapacity(1.0, candidates.saturation.blocker)

    async def _waited(
        self, cached: CachedCandidates, deployments: Sequence[Deployment], request: PickRequest, patience: float
    ) -> Pick | NoCapacity:
        """Wait for so long, however often the candidates change meanwhile."""
        ends = self._clock() + patience
        for _ in range(MOST_LOOKS):
            is_there = self.candidates.matches_at(cached, deployments)
            waited = await self.queue.wait(cached.candidates, request, request.client, patience, is_there)
            found = waited or self._picked(cached, deployments, request)
            patience = ends - self._clock()
            if waited is not None or isinstance(found, Pick) or patience <= 0:
                break
            cached = self.candidates.resolve(cached.candidates.name, deployments)
        return found

    def _patience(
        self, attempts: RequestAttempts, no_capacity: NoCapacity | None, *, is_pressing: bool
    ) -> float | None:
        """Return for how many seconds a request waits; None if that would be in vain."""
        patience = self.settings.wait - attempts.waited
        if no_capacity is None or no_capacity.blocker is None:
            return patience
        if no_capacity.blocker.may_be_exceeded:
            return min(patience, PART_SECONDS)
        if no_capacity.is_lease_pending and not is_pressing:
            return max(min(patience, PART_SECONDS), GRACE_SECONDS)
        if no_capacity.available_in <= GRACE_SECONDS:
            # A moment, such as workers need to hear of each other, is no refusal.
            return max(patience, GRACE_SECONDS)
        return None if no_capacity.available_in > patience and not no_capacity.blocker.may_end_any_time else patience

    def _picked(
        self, cached: CachedCandidates, deployments: Sequence[Deployment], request: PickRequest
    ) -> Pick | NoCapacity:
        found = self.pool.pick(cached.candidates, request, self.candidates.matches_at(cached, deployments))
        if found is None:
            # They say the same, and are others.
            cached = self.candidates.resolve(cached.candidates.name, deployments)
            found = self.pool.pick(cached.candidates, request, self.candidates.matches_at(cached, deployments))
        return found or NoCapacity(0.0, None)

    async def _pinned_elsewhere(self, key: SessionKey, replicator: SessionReplicator) -> str | None:
        elsewhere = await replicator.fetch(key.text)
        if elsewhere is not None:
            self.sessions.merge(key.text, elsewhere, self._clock())
        # Another request of the session may have been chosen for meanwhile.
        return self.sessions.account_of(key, self._clock())

    def _advice(
        self, candidates: CandidateSet, key: SessionKey, pinned: str, tried: frozenset[str], now: float
    ) -> AffinityDecision:
        deployments = [candidates.deployments[position] for position in candidates.positions_by_account.get(pinned, ())]
        if not deployments:
            return decide(PinnedAccount(is_candidate=False), self.settings.sticky)
        deployment = deployments[0]
        cooldowns = deployment.account.cooldown, deployment.model.cooldown
        return decide(
            PinnedAccount(
                is_candidate=any(each.spec.id not in tried for each in deployments),
                is_quarantined=any(cooldown.state(now) is HealthState.QUARANTINED for cooldown in cooldowns),
                cooldown_left=max(
                    0.0, *(cooldown.until - now for cooldown in cooldowns if cooldown.kind is not None), 0.0
                ),
                failures=max(cooldown.failures for cooldown in cooldowns),
                latency=deployment.latency.recent(now),
                median_latency=candidates.median_latency,
                is_overloaded=self.sessions.is_overloaded(key, now, len(candidates.positions_by_account)),
            ),
            self.settings.sticky,
        )

    def _chosen(
        self,
        candidates: CandidateSet,
        key: SessionKey,
        request: PickRequest,
        pick: Pick,
        pinned: str | None,
        decision: AffinityDecision | None,
    ) -> SessionOutcome:
        account, now = pick.deployment.spec.account, self._clock()
        is_fallback = decision is not None and decision.keeps_pin
        if is_fallback and account != pinned and decision is not None and decision.is_temporary:
            is_fallback = not self._lasts(candidates, key, request.usage, pinned, now)
        return self.sessions.record(
            key, account, now, is_fallback=is_fallback, is_spread=decision is AffinityDecision.OVERLOADED
        )

    def _lasts(self, candidates: CandidateSet, key: SessionKey, usage: Usage, pinned: str | None, now: float) -> bool:
        """Return whether a session has been kept from its account, or will be, for longer than its pin waits."""
        # A window is a part longer than it is called.
        longest = self.settings.sticky.repin_after * (1 + 1 / PARTS)
        if self.sessions.away_for(key, now) > longest:
            return True
        deployments = [
            candidates.deployments[position] for position in candidates.positions_by_account.get(pinned or "", ())
        ]
        blockers = [deployment.blocker(usage, now) for deployment in deployments]
        return bool(blockers) and all(blocker is not None and blocker.until > now + longest for blocker in blockers)

    def _opened(self, candidates: CandidateSet) -> None:
        self.queue.wake(candidates)


def _never() -> float:
    return 1.0


def _client(request: Mapping[str, Any]) -> str:
    """Return whose request it is; clients without a key of their own are one.

    Some kinds of authentication leave the very key there, so only what it hashes to is kept.
    """
    for name in ("litellm_metadata", "metadata"):
        metadata = request.get(name)
        if metadata and isinstance(metadata, dict):
            found = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
            if isinstance(found, str):
                if len(found) == HASH_DIGITS:
                    # LiteLLM's own hash.
                    return found
                return sha256(found.encode(errors="surrogatepass")).hexdigest()[:CLIENT_DIGITS]
    return ""
