"""What of the rotation is read when somebody looks: states, limits, what is under way, as samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from litellm_evenkeel.instrumentation.export import Sample
from litellm_evenkeel.instrumentation.label_limit import OTHER
from litellm_evenkeel.rotation.inspection import metric_definitions
from litellm_evenkeel.rotation.inspection.account_status import scope_status, scopes_by_account
from litellm_evenkeel.rotation.state.cooldown import HealthState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from litellm_evenkeel.instrumentation.label_limit import LabelLimiter
    from litellm_evenkeel.rotation.affinity.session_table import SessionCounts
    from litellm_evenkeel.rotation.inspection.account_status import ScopeStatus
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.account_scope import AccountScope

# Looking at more would keep requests waiting: accounts as a whole and models at them, together.
MAX_SCOPES = 500
SESSIONS = {
    "hits": "hits",
    "misses": "new",
    "escapes": "fallbacks",
    "repins": "moved",
    "refused": "refused",
    "evicted": "evicted",
    "adopted": "merged",
}


class GaugeSource(Protocol):
    """What is looked at: the rotation of one worker."""

    @property
    def pool(self) -> AccountPool:
        """All accounts."""

    def now(self) -> float:
        """Return the time by the pool's clock."""

    def candidate_sets(self) -> Sequence[CandidateSet]:
        """Return all sets of candidates that are in use."""

    def session_counts(self) -> SessionCounts:
        """Return what has happened to sessions."""

    def queue_lengths(self) -> Mapping[str, int]:
        """Return how many requests wait for each model group."""

    def route_cache(self) -> tuple[int, int]:
        """Return how many lists of candidates were known, and were not."""


class Gauges:
    """All samples of one worker, whenever they are asked for."""

    def __init__(
        self,
        watched: GaugeSource,
        accounts: LabelLimiter,
        models: LabelLimiter,
        is_shared: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self._watched, self._accounts, self._models, self._is_shared = watched, accounts, models, is_shared

    def samples(self) -> Iterator[Sample]:
        """Yield them."""
        now = self._watched.now()
        yield from self._of_accounts(now)
        yield from self._of_sessions()
        waiting: dict[str, int] = {}
        for group, number in self._watched.queue_lengths().items():
            label = self._models.bound(group)
            waiting[label] = waiting.get(label, 0) + number
        for label, number in waiting.items():
            yield Sample(metric_definitions.WAITING, (label,), number)
        ages = [now - group.snapshot.taken for group in self._watched.candidate_sets()]
        yield Sample(metric_definitions.SNAPSHOT_AGE, (), max(ages, default=0.0))
        hits, misses = self._watched.route_cache()
        yield Sample(metric_definitions.ROUTE_CACHE, ("hit",), hits)
        yield Sample(metric_definitions.ROUTE_CACHE, ("miss",), misses)
        is_shared = self._is_shared()
        if is_shared is not None:
            yield Sample(metric_definitions.SHARED_CONNECTED, (), float(is_shared))

    def _of_accounts(self, now: float) -> Iterator[Sample]:
        looked_at = 0
        others: list[AccountScope] = []
        pool = self._watched.pool
        for account, several in scopes_by_account(pool).items():
            looked_at += len(several)
            if self._accounts.bound(account) == OTHER or looked_at > MAX_SCOPES:
                others.append(several[0])
                continue
            for scope in several:
                yield from _of_side(account, scope_status(scope, pool.deployments_of(scope), now))
        if others:
            # So many that each can only be glanced at.
            yield Sample(metric_definitions.IN_FLIGHT, (OTHER,), sum(scope.in_flight for scope in others))
            held = [scope.cooldown.until - now for scope in others if scope.cooldown.kind is not None]
            yield Sample(metric_definitions.HOLD_SECONDS, (OTHER, "", "any"), max(held, default=0.0))

    def _of_sessions(self) -> Iterator[Sample]:
        counts = self._watched.session_counts()
        pins: dict[str, int] = {}
        for account, number in counts.accounts.items():
            label = self._accounts.bound(account)
            pins[label] = pins.get(label, 0) + number
        for label, number in pins.items():
            yield Sample(metric_definitions.PINS, (label,), number)
        for kind, name in SESSIONS.items():
            yield Sample(metric_definitions.SESSIONS, (kind,), getattr(counts, name))
        savings = counts.savings
        for reason, gained in (("misses", savings.gained_over_misses), ("away", savings.gained_over_away)):
            if gained is not None:
                yield Sample(metric_definitions.GAINED_TOKENS, (reason,), gained)


def _of_side(account: str, one: ScopeStatus) -> Iterator[Sample]:
    model = one.model or ""
    if one.model is None:
        yield Sample(metric_definitions.IN_FLIGHT, (account,), one.in_flight)
    if one.failure_kind is not None:
        left = math.inf if one.state is HealthState.QUARANTINED else one.cooldown_seconds or 0.0
        yield Sample(metric_definitions.HOLD_SECONDS, (account, model, one.failure_kind.value), left)
    yield Sample(metric_definitions.TRAFFIC_SHARE, (account, model), one.traffic_share)
    if one.latency is not None and one.model is not None:
        yield Sample(metric_definitions.LATENCY_SECONDS, (account, model), one.latency)
    for window in one.windows:
        labels = (account, model, window.name)
        yield Sample(metric_definitions.LEFT_SHARE, labels, 1 - window.used_share)
        runs_out = math.inf if window.runs_out_in is None else window.runs_out_in
        yield Sample(metric_definitions.EXHAUSTION_SECONDS, labels, runs_out)
