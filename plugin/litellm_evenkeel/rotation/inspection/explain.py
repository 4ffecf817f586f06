"""Explanation of the next pick, as values for routes and commands.

The explanation calls the selection itself, on the same state: nothing is reserved, and no lease is requested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from litellm_evenkeel.rotation.inspection.required_change import required_change
from litellm_evenkeel.rotation.model.blocker import DESCRIPTIONS
from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason
from litellm_evenkeel.rotation.selection.selector import Selected, blocker_of, reason_of_strategy, select
from litellm_evenkeel.support import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason, Certainty
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.cooldown import HealthState

# The event loop may run other tasks after this number of candidates.
CANDIDATES_PER_SLICE = 64


@dataclass(frozen=True, slots=True)
class CandidateBlocker:
    """The blocker of the request at one candidate."""

    reason: BlockReason
    detail: str
    """The name of the limit, or the reason of the failure."""
    ends_in_seconds: float
    """`inf` if waiting does not help."""
    certainty: Certainty
    needed: float
    available: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One deployment that could serve the request."""

    account: str
    deployment: str
    model: str
    priority: int
    rank: int
    """Position among all candidates, from 1: available ones by priority and score, then blocked ones by their end."""
    score: float
    """The strategy's rating for this request; more is better."""
    weight: float
    """Weight of the draw among candidates of its priority; 0 if it was blocked when the snapshot was built."""
    account_state: HealthState
    model_state: HealthState
    blocker: CandidateBlocker | None
    traffic_share: float
    """Share of its traffic that it takes: below 1 during its ramp-up."""
    in_flight: int
    """Requests in flight at its account, over all models."""
    latency_seconds: float | None
    """Recent latency; `None` if unknown."""
    change: str
    """The change after which it would be picked; empty for the picked candidate."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request, and all candidates for it by rank."""

    model: str
    request: PickRequest
    strategy: str
    snapshot_age_seconds: float
    verdict: str
    """The outcome in one sentence."""
    chosen: str | None
    """The account that ranks first; `None` if no candidate is available."""
    reason: PickReason | None
    """Why it is picked."""
    available_in_seconds: float | None
    """Time until a candidate may be available; `None` if there is one now, `inf` if waiting does not help."""
    candidates: tuple[Candidate, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the document of the route; infinite and unknown values are null."""
        request = self.request
        document: dict[str, Any] = to_jsonable_python(self, inf_nan_mode="null")
        document["request"] = {
            "tokens": request.usage.tokens,
            "dollars": request.usage.dollars,
            "excluded": sorted(request.excluded),
            "pinned_to": request.preferred_account,
            "fallback_account": request.fallback_account,
            "stream": request.is_stream,
        }
        return document


def explain(
    pool: AccountPool, candidates: CandidateSet, request: PickRequest, *, random: Callable[[], float]
) -> Generator[None, None, Explanation]:
    """Explain the next pick. Yield where other tasks may run.

    `random` must not be the pool's source, as the next picks must stay the same.
    """
    now = pool.now()
    pool.expire_reservations(now)
    pool.ensure_fresh(candidates, now)
    request = request._replace(ignores_leases=True)
    result = select(candidates, request, now, random).result
    unranked = []
    for position in range(len(candidates.deployments)):
        if position % CANDIDATES_PER_SLICE == CANDIDATES_PER_SLICE - 1:
            yield
        unranked.append(_candidate(position, candidates, request, now))

    def sort_key(position: int) -> tuple[object, ...]:
        row = unranked[position]
        is_excluded, is_blocked = row.deployment in request.excluded, row.blocker is not None
        if row.blocker is not None:
            return is_excluded, is_blocked, row.blocker.ends_in_seconds, row.priority, -row.score, position
        return is_excluded, is_blocked, not row.weight, row.priority, row.traffic_share < 1, -row.score, position

    order = sorted(range(len(unranked)), key=sort_key)
    selected = None
    if isinstance(result, Selected):
        # If the pick is drawn by chance, the explanation takes the candidate that ranks first.
        is_by_rank = result.reason in (PickReason.STRATEGY, PickReason.PROBE)
        first = candidates.deployments[order[0]]
        selected = Selected(order[0], reason_of_strategy(first)) if is_by_rank else result
    rows = []
    for rank, position in enumerate(order, 1):
        if rank % CANDIDATES_PER_SLICE == 0:
            yield
        is_picked = selected is not None and position == selected.position
        change = "" if is_picked else required_change(position, selected, candidates, request, now)
        rows.append(replace(unranked[position], rank=rank, change=change))
    no_capacity = result if isinstance(result, NoCapacity) else None
    return Explanation(
        model=candidates.name,
        request=request,
        strategy=str(pool.strategy_of(candidates.name)),
        snapshot_age_seconds=max(now - candidates.snapshot.taken, 0.0),
        verdict=_rejection(no_capacity) if no_capacity else _verdict(rows, candidates, selected),
        chosen=None if selected is None else candidates.deployments[selected.position].spec.account,
        reason=None if selected is None else selected.reason,
        available_in_seconds=no_capacity.available_in if no_capacity else None,
        candidates=tuple(rows),
    )


def _candidate(position: int, candidates: CandidateSet, request: PickRequest, now: float) -> Candidate:
    """Return a candidate that has no rank yet."""
    deployment = candidates.deployments[position]
    blocker = blocker_of(deployment, request, now)
    return Candidate(
        account=deployment.spec.account,
        deployment=deployment.spec.id,
        model=deployment.spec.model,
        priority=deployment.spec.priority,
        rank=0,
        score=candidates.strategy.score(position, request, now),
        weight=candidates.snapshot.weights[position],
        account_state=deployment.account.cooldown.state(now),
        model_state=deployment.model.cooldown.state(now),
        blocker=None if blocker is None else _blocker(blocker, now),
        traffic_share=deployment.traffic_share(now),
        in_flight=deployment.account.in_flight,
        latency_seconds=deployment.latency.current(now) or None,
        change="",
    )


def _blocker(blocker: Blocker, now: float) -> CandidateBlocker:
    ends_in = max(blocker.until - now, 0.0)
    return CandidateBlocker(
        blocker.reason, blocker.detail, ends_in, blocker.certainty, blocker.needed, blocker.available
    )


REASONS = {
    PickReason.PINNED: "the session is pinned to it",
    PickReason.PROBE: "its cooldown is over, and the request is its probe",
    PickReason.RAMP_UP: "it is ramping up, and no other candidate is available",
    PickReason.EARLIEST_RECOVERY: "all candidates cool down, and its cooldown, an estimate, ends first",
    PickReason.RETRY_SAME: "the request failed at all candidates",
}


def _verdict(rows: Sequence[Candidate], candidates: CandidateSet, selected: Selected | None) -> str:
    if selected is None:
        return "no account is picked"
    account = candidates.deployments[selected.position].spec.account
    if selected.reason is not PickReason.STRATEGY:
        return f"{account} is picked: {REASONS[selected.reason]}"
    first = rows[0]
    rivals = [
        row
        for row in rows[1:]
        if row.blocker is None
        and row.weight
        and row.priority == first.priority
        and row.traffic_share >= first.traffic_share
    ]
    compared = candidates.strategy.compared_of(len(rivals) + 1)
    if rivals and compared <= len(rivals):
        return (
            f"{account} ranks first of {len(rivals) + 1} available candidates; each request compares {compared} of"
            " them, drawn by weight"
        )
    equal = [row.account for row in rivals if row.score >= first.score]
    if equal:
        return f"one of {formatting.names(list(dict.fromkeys([account, *equal])))} is picked: they score the same"
    return f"{account} is picked: it ranks first"


def _rejection(no_capacity: NoCapacity) -> str:
    blocker = no_capacity.blocker
    if blocker is None:
        return "no account is picked: there are no candidates"
    if no_capacity.available_in == math.inf:
        return f"no account is picked: {DESCRIPTIONS[blocker.reason]}, and waiting does not help"
    detail = f" ({blocker.detail})" if blocker.detail else ""
    seconds = formatting.time(no_capacity.available_in)
    return f"no account is picked now; the first is available in {seconds}: {DESCRIPTIONS[blocker.reason]}{detail}"
