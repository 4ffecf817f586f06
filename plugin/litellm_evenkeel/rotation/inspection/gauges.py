"""Metrics of the rotation that are sampled at each scrape: states, limits, requests in flight."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from litellm_evenkeel.instrumentation.export import Sample
from litellm_evenkeel.instrumentation.label_limit import OTHER
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.inspection import metric_definitions
from litellm_evenkeel.rotation.inspection.account_status import scope_status, scopes_by_account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.instrumentation.label_limit import LabelLimiter
    from litellm_evenkeel.rotation.inspection.account_status import ScopeStatus
    from litellm_evenkeel.rotation.inspection.inspector import RotationInspector
    from litellm_evenkeel.rotation.state.account_scope import AccountScope

# Sampling more scopes, accounts and models together, would block the event loop and delay requests.
MAX_SCOPES = 500


class Gauges:
    """Sampled metrics of one worker."""

    def __init__(
        self,
        inspector: RotationInspector,
        accounts: LabelLimiter,
        models: LabelLimiter,
        is_shared: Callable[[], bool | None],
    ) -> None:
        self._inspector, self._accounts, self._models, self._is_shared = inspector, accounts, models, is_shared

    def samples(self) -> Iterator[Sample]:
        """Yield the current samples."""
        now = self._inspector.pool.now()
        yield from self._account_samples(now)
        yield from self._session_samples()
        queued: Counter[str] = Counter()
        for model_group, number in self._inspector.queue_lengths().items():
            queued[self._models.bound(model_group)] += number
        for label, number in queued.items():
            yield Sample(metric_definitions.QUEUE_LENGTH, (label,), number)
        ages = [now - candidates.snapshot.taken for candidates in self._inspector.candidate_sets()]
        yield Sample(metric_definitions.SNAPSHOT_AGE, (), max(ages, default=0.0))
        for kind, number in self._inspector.controls.counts().items():
            yield Sample(metric_definitions.CONTROLS, (kind,), number)
        hits, misses = self._inspector.candidate_cache_counts()
        yield Sample(metric_definitions.CANDIDATE_CACHE, ("hit",), hits)
        yield Sample(metric_definitions.CANDIDATE_CACHE, ("miss",), misses)
        is_shared = self._is_shared()
        if is_shared is not None:
            yield Sample(metric_definitions.SHARED_CONNECTED, (), float(is_shared))

    def _account_samples(self, now: float) -> Iterator[Sample]:
        scope_count = 0
        collapsed: list[AccountScope] = []
        pool = self._inspector.pool
        for account, scopes in scopes_by_account(pool).items():
            scope_count += len(scopes)
            if self._accounts.bound(account) == OTHER or scope_count > MAX_SCOPES:
                collapsed.append(scopes[0])
                continue
            for scope in scopes:
                yield from _scope_samples(account, scope_status(scope, pool.deployments_of(scope), now))
        if collapsed:
            # There may be thousands of collapsed accounts, so only cheap values are read.
            yield Sample(metric_definitions.IN_FLIGHT, (OTHER,), sum(scope.in_flight for scope in collapsed))
            cooldowns = [scope.cooldown for scope in collapsed if scope.cooldown.kind is not None]
            ends = [cooldown.until - now for cooldown in cooldowns if cooldown.kind is not FailureKind.PERMANENT]
            yield Sample(metric_definitions.COOLDOWN_SECONDS, (OTHER, "", "any"), max(ends, default=0.0))
            if len(ends) < len(cooldowns):
                yield Sample(metric_definitions.COOLDOWN_SECONDS, (OTHER, "", FailureKind.PERMANENT.value), math.inf)

    def _session_samples(self) -> Iterator[Sample]:
        counts = self._inspector.session_counts()
        pins: Counter[str] = Counter()
        for account, number in counts.accounts.items():
            pins[self._accounts.bound(account)] += number
        for label, number in pins.items():
            yield Sample(metric_definitions.SESSIONS, (label,), number)
        requests = (("hit", counts.hits), ("new", counts.new), ("fallback", counts.fallbacks), ("moved", counts.moved))
        for outcome, number in requests:
            yield Sample(metric_definitions.SESSION_REQUESTS, (outcome,), number)
        changes = (("rejected", counts.rejected), ("evicted", counts.evicted), ("merged", counts.merged))
        for outcome, number in changes:
            yield Sample(metric_definitions.SESSION_PINS, (outcome,), number)
        savings = counts.savings
        for baseline, saved in (("new", savings.saved_over_new), ("moved", savings.saved_over_moved)):
            if saved is not None:
                yield Sample(metric_definitions.SAVED_TOKENS, (baseline,), saved)


def _scope_samples(account: str, scope: ScopeStatus) -> Iterator[Sample]:
    model = scope.model or ""
    if scope.model is None:
        yield Sample(metric_definitions.IN_FLIGHT, (account,), scope.in_flight)
    if scope.failure is not None:
        left = math.inf if scope.failure is FailureKind.PERMANENT else scope.cooldown_seconds or 0.0
        yield Sample(metric_definitions.COOLDOWN_SECONDS, (account, model, scope.failure.value), left)
    yield Sample(metric_definitions.TRAFFIC_RATIO, (account, model), scope.traffic_share)
    if scope.latency_seconds is not None and scope.model is not None:
        yield Sample(metric_definitions.LATENCY_SECONDS, (account, model), scope.latency_seconds)
    for window in scope.windows:
        labels = (account, model, window.name)
        yield Sample(metric_definitions.LIMIT_REMAINING_RATIO, labels, 1 - window.used_share)
        exhausted_in = math.inf if window.exhausted_in_seconds is None else window.exhausted_in_seconds
        yield Sample(metric_definitions.EXHAUSTION_SECONDS, labels, exhausted_in)
