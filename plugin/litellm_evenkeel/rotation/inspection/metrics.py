"""The rotation in Prometheus: what happens is written as it happens, in series that were prepared before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY

from litellm_evenkeel.instrumentation.export import made
from litellm_evenkeel.instrumentation.label_limit import LabelLimiter
from litellm_evenkeel.rotation.inspection import metric_definitions

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from litellm_evenkeel.instrumentation.definitions import MetricDefinition
    from litellm_evenkeel.providers.classifier import Failure
    from litellm_evenkeel.providers.failure import FailureKind
    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.attempts import Attempt
    from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason


@dataclass(slots=True)
class PickCounts:
    """Counts, by account."""

    picks: Counter[tuple[str, PickReason]] = field(default_factory=Counter)
    failures: Counter[tuple[str, FailureKind]] = field(default_factory=Counter)

    def by_account(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
        """Return picks by reason and failures by kind, each by account."""
        return _by_account(self.picks), _by_account(self.failures)


def _by_account(
    counts: Counter[tuple[str, PickReason]] | Counter[tuple[str, FailureKind]],
) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (account, what), count in counts.items():
        found.setdefault(account, {})[str(what)] = count
    return found


MAX_ACCOUNTS = 200
MAX_MODEL_GROUPS = 200
NO_CANDIDATES = "no candidates"


class RotationMetrics:
    """An observer that counts. A series that was there once costs a look into a dictionary."""

    def __init__(self, registry: CollectorRegistry | None = REGISTRY, *, max_accounts: int = MAX_ACCOUNTS) -> None:
        self.accounts, self.models = LabelLimiter(max_accounts), LabelLimiter(MAX_MODEL_GROUPS)
        self.counts = PickCounts()
        self.registry = registry
        self._made = {one: made(one, registry) for one in metric_definitions.RECORDED}
        self._picks: dict[tuple[str, str], Any] = {}
        self._others: dict[tuple[MetricDefinition, str, str], Any] = {}
        self._pick_seconds = self._made[metric_definitions.PICK_SECONDS]
        self._rebuild_seconds = self._made[metric_definitions.REBUILD_SECONDS]
        waits = self._made[metric_definitions.WAIT_SECONDS]
        self._waits = {True: waits.labels("served"), False: waits.labels("given up")}

    def on_pick(self, pick: Pick, model_group: str, seconds: float) -> None:
        """Know of a choice, and how long it took."""
        del model_group
        key = (pick.deployment.spec.account, pick.reason)
        self.counts.picks[key] += 1
        child = self._picks.get(key)
        if child is None:
            child = self._picks[key] = self._made[metric_definitions.PICKS].labels(
                self.accounts.bound(key[0]), key[1].value
            )
        child.inc()
        self._pick_seconds.observe(seconds)

    def on_queued(self, model_group: str, seconds: float, *, is_served: bool) -> None:
        """Know of a request that has waited for an account."""
        del model_group
        self._waits[is_served].observe(seconds)

    def on_rejection(self, model_group: str, no_capacity: NoCapacity) -> None:
        """Know of a request for which there was none."""
        reason = no_capacity.blocker.reason.value if no_capacity.blocker else NO_CANDIDATES
        self._made[metric_definitions.REFUSALS].labels(self.models.bound(model_group), reason).inc()

    def on_failure(self, attempt: Attempt, failure: Failure) -> None:
        """Know of a failed attempt."""
        account = attempt.pick.deployment.spec.account
        self.counts.failures[account, failure.kind] += 1
        self._of_account(metric_definitions.FAILURES, account, failure.kind.value).inc()

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Know of an answer."""
        account = attempt.pick.deployment.spec.account
        self._of_account(metric_definitions.ENDS, account, "from cache" if usage.is_from_cache else "answered").inc()
        if usage.is_from_cache:
            return
        told = (("prompt", usage.prompt_tokens), ("cached", usage.cached_tokens), ("output", usage.output_tokens))
        for kind, tokens in told:
            if tokens > 0:
                self._of_account(metric_definitions.TOKENS, account, kind).inc(tokens)

    def on_lost(self, attempt: Attempt) -> None:
        """Know of an attempt of whose end nobody told."""
        self._of_account(metric_definitions.ENDS, attempt.pick.deployment.spec.account, "vanished").inc()

    def on_snapshot(self, seconds: float) -> None:
        """Know that a snapshot was made anew."""
        self._rebuild_seconds.observe(seconds)

    def plugin_error(self, operation: str) -> None:
        """Know of an error of ours, by where it happened."""
        self._made[metric_definitions.ERRORS].labels(operation).inc()

    def _of_account(self, one: MetricDefinition, account: str, kind: str) -> Any:
        key = (one, account, kind)
        child = self._others.get(key)
        if child is None:
            child = self._others[key] = self._made[one].labels(self.accounts.bound(account), kind)
        return child
