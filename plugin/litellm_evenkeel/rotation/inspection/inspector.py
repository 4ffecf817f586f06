"""Inspection of one worker's rotation: account status, explanations, and release by an operator."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from litellm_evenkeel.rotation.inspection.account_status import account_statuses, control_status, fingerprints
from litellm_evenkeel.rotation.inspection.explain import explain
from litellm_evenkeel.rotation.model.request import PickRequest, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Mapping, Sequence

    from litellm_evenkeel.rotation.account_router import AccountRouter
    from litellm_evenkeel.rotation.affinity.policy import AffinityDecision
    from litellm_evenkeel.rotation.affinity.session_table import SessionCounts
    from litellm_evenkeel.rotation.controls.control_table import ControlTable
    from litellm_evenkeel.rotation.inspection.account_status import AccountStatus, ControlStatus
    from litellm_evenkeel.rotation.inspection.explain import Explanation
    from litellm_evenkeel.rotation.inspection.metrics import PickCounts
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.pool.candidate_cache import Deployment
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExplainQuery:
    """A request whose pick is to be explained."""

    model: str
    tokens: float | None = None
    """`None`: the number that is usually reserved for a request to this model group."""
    session: str | None = None
    client: str = ""
    """The hash of the client's key. Sessions of different keys are different, even with the same id."""
    excluded: frozenset[str] = frozenset()
    """Names of accounts or ids of deployments at which the request has failed."""
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """An explanation, with the state of the session's pin and of the queue."""

    explanation: Explanation
    pinned_to: str | None
    """The account that the session is pinned to; `None` without a pin."""
    decision: AffinityDecision | None
    queued: int
    """Number of queued requests for this model group, which are served before a new one."""
    is_scarce: bool
    """Whether capacity is scarce, so that clients above their fair share wait."""


class RotationInspector:
    """Inspector of one worker's rotation."""

    def __init__(
        self,
        router: AccountRouter,
        pick_counts: PickCounts,
        *,
        deployments: Callable[[str], Sequence[Deployment]] = lambda _: (),
    ) -> None:
        self._router, self._pick_counts, self._deployments = router, pick_counts, deployments
        # Not the pool's source, as an explanation must not change the next picks.
        self._random = random.Random().random  # noqa: S311 - no secret depends on it

    @property
    def pool(self) -> AccountPool:
        """All accounts."""
        return self._router.pool

    def candidate_sets(self) -> Sequence[CandidateSet]:
        """Return all candidate sets that are in use."""
        return self._router.candidates.candidate_sets()

    def session_counts(self) -> SessionCounts:
        """Return the counters of sessions."""
        return self._router.affinity.sessions.counts()

    def queue_lengths(self) -> Mapping[str, int]:
        """Return the number of queued requests by model group."""
        return self._router.admission.queue.lengths()

    def candidate_cache_counts(self) -> tuple[int, int]:
        """Return the hits and misses of the cache of candidate sets."""
        return self._router.candidates.hits, self._router.candidates.misses

    def models(self) -> list[str]:
        """Return the names of the model groups that this worker had requests for, sorted."""
        return sorted({candidates.name for candidates in self.candidate_sets()})

    def account_names(self) -> list[str]:
        """Return the names of all accounts that this worker has a state of, sorted."""
        return sorted({account for account, _ in self.pool.scopes})

    async def accounts(self, only: Sequence[str] | None = None) -> tuple[AccountStatus, ...]:
        """Return the status of all accounts, or of those in `only`."""
        pool, counts = self.pool, self.session_counts()
        controls_of = self._router.controls.of_account
        statuses = account_statuses(pool, pool.now(), self._pick_counts, counts, only=only, controls_of=controls_of)
        return await _run_in_slices(statuses)

    def fingerprints(self) -> Mapping[str, Hashable]:
        """Return a value for each account that changes when something happens to the account."""
        return fingerprints(self.pool, self.controls.of_account, self.pool.now())

    async def explain(self, query: ExplainQuery) -> ExplainResult | None:
        """Explain what would be picked now. Return `None` for an unknown model group."""
        candidates = self._candidate_set(query.model)
        if candidates is None:
            return None
        deployments = candidates.deployments
        tried = frozenset(
            deployment.spec.id
            for deployment in deployments
            if {deployment.spec.id, deployment.spec.account} & query.excluded
        )
        usage = self._router.estimator.estimate(candidates.name, {}, None)
        if query.tokens is not None:
            usage = Usage(1.0, query.tokens, usage.dollars * query.tokens / usage.tokens if usage.tokens else 0.0)
        request, pinned, decision = PickRequest(usage, tried, is_stream=query.is_stream), None, None
        if query.session:
            metadata = {"session_id": query.session, "user_api_key_hash": query.client}
            preference = self._router.affinity.preview(candidates, request, {"metadata": metadata})
            request, pinned, decision = preference.request, preference.pinned, preference.decision
        explanation = await _run_in_slices(explain(self.pool, candidates, request, random=self._random))
        return ExplainResult(
            explanation,
            pinned,
            decision,
            self.queue_lengths().get(candidates.name, 0),
            candidates.fair_share.is_scarce,
        )

    @property
    def controls(self) -> ControlTable:
        """The controls that are in force."""
        return self._router.controls

    def controls_of(self, account: str) -> list[ControlStatus]:
        """Return the controls of an account."""
        now = self.pool.now()
        return [control_status(control, now) for control in self.controls.of_account(account)]

    def release(self, account: str) -> bool:
        """End the cooldowns of `account` and of its models. Return whether the account exists."""
        return self.pool.release_account(account)

    def _candidate_set(self, model: str) -> CandidateSet | None:
        # Filters such as tags reduce the candidates of some requests; the largest set is that of unfiltered ones.
        known = [candidates for candidates in self.candidate_sets() if candidates.name == model]
        if known:
            return max(known, key=lambda candidates: len(candidates.deployments))
        deployments = self._deployments(model)
        return self._router.candidates.lookup(model, deployments).candidates if deployments else None


async def _run_in_slices(steps: Generator[None, None, T]) -> T:
    """Run `steps` to the end. Other tasks may run after each step."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)
