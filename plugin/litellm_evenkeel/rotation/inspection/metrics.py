"""Metrics of the rotation that are recorded at each event, in series that are looked up once and cached."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.instrumentation.export import new_metric
from litellm_evenkeel.instrumentation.label_limit import LabelLimiter
from litellm_evenkeel.rotation.inspection import metric_definitions
from litellm_evenkeel.rotation.observer import Observer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from litellm_evenkeel.instrumentation.definitions import MetricDefinition
    from litellm_evenkeel.providers.classifier import Failure
    from litellm_evenkeel.providers.failure import FailureKind
    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.attempts import Attempt
    from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason


MAX_ACCOUNTS = 200
MAX_MODEL_GROUPS = 200
NO_CANDIDATES = "no_candidates"


@dataclass(slots=True)
class PickCounts:
    """Counters by account."""

    picks: Counter[tuple[str, PickReason]] = field(default_factory=Counter)
    failures: Counter[tuple[str, FailureKind]] = field(default_factory=Counter)

    def by_account(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
        """Return picks by reason and failures by kind, each by account."""
        return _group_by_account(self.picks), _group_by_account(self.failures)


def _group_by_account(
    counts: Counter[tuple[str, PickReason]] | Counter[tuple[str, FailureKind]],
) -> dict[str, dict[str, int]]:
    by_account: dict[str, dict[str, int]] = {}
    for (account, label), count in counts.items():
        by_account.setdefault(account, {})[str(label)] = count
    return by_account


class RotationMetrics(Observer):
    """Observer that records metrics. Once a series exists, recording costs one look-up in a dictionary."""

    def __init__(self, registry: CollectorRegistry | None, *, max_accounts: int = MAX_ACCOUNTS) -> None:
        self.accounts, self.models = LabelLimiter(max_accounts), LabelLimiter(MAX_MODEL_GROUPS)
        self.counts = PickCounts()
        self.registry = registry
        self._metrics = {definition: new_metric(definition, registry) for definition in metric_definitions.RECORDED}
        self._pick_series: dict[tuple[str, str], Any] = {}
        self._account_series: dict[tuple[MetricDefinition, str, str], Any] = {}
        self._pick_seconds = self._metrics[metric_definitions.PICK_SECONDS]
        self._rebuild_seconds = self._metrics[metric_definitions.REBUILD_SECONDS]
        waits = self._metrics[metric_definitions.QUEUE_SECONDS]
        self._session_waits = self._metrics[metric_definitions.SESSION_WAIT_SECONDS]
        self._waits = {True: waits.labels("served"), False: waits.labels("timeout")}

    def on_pick(self, pick: Pick, seconds: float) -> None:
        """Record a pick, and the seconds it took, time in the queue included."""
        key = (pick.deployment.spec.account, pick.reason)
        self.counts.picks[key] += 1
        series = self._pick_series.get(key)
        if series is None:
            series = self._pick_series[key] = self._metrics[metric_definitions.PICKS].labels(
                self.accounts.bound(key[0]), key[1].value
            )
        series.inc()
        self._pick_seconds.observe(seconds)

    def on_queued(self, seconds: float, *, is_served: bool) -> None:
        """Record that a request left the queue after `seconds`."""
        self._waits[is_served].observe(seconds)

    def on_session_wait(self, seconds: float) -> None:
        """Record that a request waited for a rate limit of its session's account."""
        self._session_waits.observe(seconds)

    def on_rejection(self, model_group: str, no_capacity: NoCapacity) -> None:
        """Record a request that no account could serve."""
        reason = no_capacity.blocker.reason.value if no_capacity.blocker else NO_CANDIDATES
        self._metrics[metric_definitions.REJECTIONS].labels(self.models.bound(model_group), reason).inc()

    def on_failure(self, attempt: Attempt, failure: Failure) -> None:
        """Record a failed attempt."""
        account = attempt.pick.deployment.spec.account
        self.counts.failures[account, failure.kind] += 1
        self._series(metric_definitions.ATTEMPTS, account, failure.kind.value).inc()

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Record a successful attempt, and its tokens."""
        account = attempt.pick.deployment.spec.account
        self._series(metric_definitions.ATTEMPTS, account, "cached" if usage.is_from_cache else "success").inc()
        if usage.is_from_cache:
            return
        counts = (("prompt", usage.prompt_tokens), ("cached", usage.cached_tokens), ("output", usage.output_tokens))
        for kind, tokens in counts:
            if tokens > 0:
                self._series(metric_definitions.TOKENS, account, kind).inc(tokens)

    def on_lost(self, attempt: Attempt) -> None:
        """Record an attempt whose end is unknown."""
        self._series(metric_definitions.ATTEMPTS, attempt.pick.deployment.spec.account, "lost").inc()

    def on_snapshot(self, seconds: float) -> None:
        """Record that a snapshot was rebuilt in `seconds`."""
        self._rebuild_seconds.observe(seconds)

    def plugin_error(self, operation: str) -> None:
        """Record an error of the plugin itself in `operation`."""
        self._metrics[metric_definitions.ERRORS].labels(operation).inc()

    def _series(self, definition: MetricDefinition, account: str, kind: str) -> Any:
        key = (definition, account, kind)
        series = self._account_series.get(key)
        if series is None:
            series = self._account_series[key] = self._metrics[definition].labels(self.accounts.bound(account), kind)
        return series
