"""The rotation of one worker, as those see it who ask: accounts, explanations, an operator's release."""

from __future__ import annotations

import asyncio
import random as randomness
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from litellm_evenkeel.rotation.inspection.account_status import account_statuses
from litellm_evenkeel.rotation.inspection.explain import explain
from litellm_evenkeel.rotation.model.request import PickRequest, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from litellm_evenkeel.rotation.account_router import AccountRouter
    from litellm_evenkeel.rotation.affinity.policy import AffinityDecision
    from litellm_evenkeel.rotation.affinity.session_table import SessionCounts
    from litellm_evenkeel.rotation.inspection.account_status import AccountStatus
    from litellm_evenkeel.rotation.inspection.explain import Explanation
    from litellm_evenkeel.rotation.inspection.metrics import PickCounts
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.pool.candidate_cache import Deployment
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExplainQuery:
    """What somebody wants explained."""

    model: str
    tokens: float | None = None
    """None for as many as are usually reserved for a request of this model."""
    session: str | None = None
    client: str = ""
    """The hash of the client's key: sessions of different keys are different ones."""
    excluded: frozenset[str] = frozenset()
    """Names of accounts, or ids of deployments, at which the request has failed."""
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """An explanation, and what its session's pin had to do with it."""

    explanation: Explanation
    pinned_to: str | None
    decision: AffinityDecision | None
    queued: int
    """How many requests wait for an account of this model: whoever asks now comes after them."""
    is_scarce: bool
    """Whether so little is left that it is shared among clients: one that has had its part waits."""


class RotationInspector:
    """One worker's."""

    def __init__(
        self,
        router: AccountRouter,
        pick_counts: PickCounts,
        *,
        clock: Callable[[], float],
        deployments: Callable[[str], Sequence[Deployment]] = lambda _: (),
        random: Callable[[], float] | None = None,
    ) -> None:
        self._router, self._pick_counts, self._clock, self._deployments = router, pick_counts, clock, deployments
        # Not the pool's: its next draws stay what they would have been.
        self._random = random or randomness.Random().random  # noqa: S311 - nothing is secret

    @property
    def pool(self) -> AccountPool:
        """All accounts."""
        return self._router.pool

    def now(self) -> float:
        """Return the time by the pool's clock."""
        return self._clock()

    def candidate_sets(self) -> Sequence[CandidateSet]:
        """Return all sets of candidates that are in use."""
        return self._router.candidates.candidate_sets()

    def session_counts(self) -> SessionCounts:
        """Return what has happened to sessions."""
        return self._router.affinity.sessions.counts()

    def queue_lengths(self) -> Mapping[str, int]:
        """Return how many requests wait for each model group."""
        return self._router.admission.queue.lengths()

    def route_cache(self) -> tuple[int, int]:
        """Return how many lists of candidates were known, and were not."""
        return self._router.candidates.hits, self._router.candidates.misses

    def models(self) -> list[str]:
        """Return the model groups that somebody has asked for here."""
        return sorted({candidates.name for candidates in self.candidate_sets()})

    def account_names(self) -> list[str]:
        """Return the names of all accounts that are known here."""
        return sorted({account for account, _ in self.pool.scopes})

    async def accounts(self, only: Sequence[str] | None = None) -> tuple[AccountStatus, ...]:
        """Return how all accounts stand, or some."""
        counts = self._router.affinity.sessions.counts()
        return await _patiently(account_statuses(self.pool, self._clock(), self._pick_counts, counts, only=only))

    async def explain(self, query: ExplainQuery) -> ExplainResult | None:
        """Say what a pick would be now; None for a model that nobody knows here."""
        candidates = self._group(query.model)
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
        told = await _patiently(explain(self.pool, candidates, request, random=self._random))
        return ExplainResult(
            told, pinned, decision, self.queue_lengths().get(candidates.name, 0), candidates.fair_share.is_scarce
        )

    def release(self, account: str) -> bool:
        """Free an account of whatever holds it; whether there is one of that name."""
        return self.pool.release_account(account)

    def _group(self, model: str) -> CandidateSet | None:
        # Tags and the like leave some requests fewer candidates: the largest set is that of all others.
        known = [candidates for candidates in self.candidate_sets() if candidates.name == model]
        if known:
            return max(known, key=lambda group: len(group.deployments))
        deployments = self._deployments(model)
        return self._router.candidates.lookup(model, deployments).candidates if deployments else None


async def _patiently(steps: Generator[None, None, T]) -> T:
    """Go on to the end, and let others have the thread at each step."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        await asyncio.sleep(0)
