"""Selection of a candidate for a request: a pure function of the candidates' state and the request.

A request gets its session's account, else the first available candidate by priority and strategy, else a fallback: a
candidate that only an estimate blocks, or one at which the request failed before. Nothing is changed here:
observations are returned, and the pool applies them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason, Certainty
from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


@dataclass(slots=True)
class Selected:
    """The candidate to take."""

    position: int
    reason: PickReason


@dataclass(slots=True)
class Selection:
    """Result of a selection, and the observations that the pool applies."""

    result: Selected | NoCapacity
    blocked: Sequence[tuple[int, Blocker]] = ()
    """Positions that were looked at and are blocked."""
    saturated_by: Sequence[Blocker] = ()
    """The blockers of all candidates, if all are blocked and none of them may be overridden."""
    is_too_little_freed: bool = False
    """Whether the set was saturated, and what was freed since is too little for the request."""


def select(candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]) -> Selection:
    """Select a candidate for a request, or return the blocker that ends first."""
    blocked: list[tuple[int, Blocker]] = []
    if request.preferred_account is not None:
        pinned = select_pinned(candidates, request, now, random)
        if pinned is not None:
            return Selection(Selected(pinned, PickReason.PINNED))
        pending = pending_lease(candidates, request, now)
        if pending is not None:
            position, blocker = pending
            return Selection(NoCapacity(max(blocker.until - now, 0.0), blocker), [(position, blocker)])
    saturation = candidates.saturation
    if saturation.blocker is not None and saturation.applies_to(request, now):
        freed = candidates.freed_by_priority()
        result = _first_available(freed, candidates, request, now, random, blocked) or next(
            (
                Selected(position, PickReason.EARLIEST_RECOVERY)
                for position in freed
                if _is_estimate_only(candidates, position, request, now)
            ),
            None,
        )
        if result is not None:
            return Selection(result, blocked)
        no_capacity = NoCapacity(max(saturation.until - now, 0.0), saturation.blocker)
        return Selection(no_capacity, blocked, is_too_little_freed=not request.excluded)
    ranked = _ranked(candidates, request, now, random)
    result = _first_available(ranked, candidates, request, now, random, blocked)
    return Selection(result, blocked) if result is not None else _fallback(candidates, request, now, blocked)


def select_pinned(
    candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]
) -> int | None:
    """Return the position of the session's account if it is available. During its ramp-up it takes only a share."""
    for position in candidates.positions_by_account.get(request.preferred_account or "", ()):
        deployment = candidates.deployments[position]
        if deployment.spec.id not in request.excluded and blocker_of(deployment, request, now) is None:
            share = deployment.traffic_share(now)
            if share >= 1 or random() < share:
                return position
    return None


def pending_lease(candidates: CandidateSet, request: PickRequest, now: float) -> tuple[int, Blocker] | None:
    """Return the position and the blocker of the session's account if it lacks only a lease, else `None`."""
    if request.is_final_try:
        return None
    for position in candidates.positions_by_account.get(request.preferred_account or "", ()):
        deployment = candidates.deployments[position]
        if deployment.spec.id not in request.excluded:
            blocker = blocker_of(deployment, request, now)
            if blocker is not None and blocker.certainty is Certainty.LEASE_PENDING:
                return position, blocker
    return None


def blocker_of(deployment: DeploymentState, request: PickRequest, now: float) -> Blocker | None:
    """Return what blocks a request at a deployment, or `None`."""
    if request.ignores_leases:
        return deployment.total_blocker(request.usage, now)
    return deployment.blocker(request.usage, now)


def _ranked(candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]) -> Iterator[int]:
    snapshot = candidates.snapshot
    for tier in snapshot.tiers:
        yield from candidates.strategy.rank(tier, request, now, random)
    # Blocked when the snapshot was made: they may be available since, or for a smaller request.
    for position, weight in enumerate(snapshot.weights):
        if not weight:
            yield position


def _first_available(
    positions: Iterable[int],
    candidates: CandidateSet,
    request: PickRequest,
    now: float,
    random: Callable[[], float],
    blocked: list[tuple[int, Blocker]],
) -> Selected | NoCapacity | None:
    """Return the first available candidate. A later priority waits for a lease that an earlier one lacks."""
    selected, pending, pending_priority = None, None, math.inf
    for position in positions:
        deployment = candidates.deployments[position]
        if deployment.spec.id in request.excluded:
            continue
        blocker = blocker_of(deployment, request, now)
        if blocker is not None:
            blocked.append((position, blocker))
            is_pending = blocker.certainty is Certainty.LEASE_PENDING and not request.is_final_try
            if is_pending and deployment.spec.priority < pending_priority:
                pending, pending_priority = blocker, deployment.spec.priority
            continue
        share = deployment.traffic_share(now)
        if share >= 1 or random() < share:
            selected = Selected(position, PickReason.STRATEGY)
            break
        selected = selected or Selected(position, PickReason.RAMP_UP)
    if selected is None or pending is None:
        return selected
    is_later = pending_priority < candidates.deployments[selected.position].spec.priority
    return NoCapacity(max(pending.until - now, 0.0), pending) if is_later else selected


def _fallback(
    candidates: CandidateSet, request: PickRequest, now: float, blocked: list[tuple[int, Blocker]]
) -> Selection:
    """Select a candidate that only an estimate blocks, or one that failed this request, else return no capacity."""
    blockers = [
        (position, blocker)
        for position, deployment in enumerate(candidates.deployments)
        if (blocker := blocker_of(deployment, request, now)) is not None
    ]
    result = _earliest_recovery(candidates, blockers, request, now, PickReason.EARLIEST_RECOVERY)
    if result is not None:
        return Selection(result, blocked)
    for position, deployment in enumerate(candidates.deployments):
        if deployment.spec.id in request.excluded and blocker_of(deployment, request, now) is None:
            return Selection(Selected(position, PickReason.RETRY_SAME), blocked)
    # A deployment at which this request failed once may work by now.
    anywhere = request._replace(excluded=frozenset())
    result = _earliest_recovery(candidates, blockers, anywhere, now, PickReason.RETRY_SAME)
    if result is not None:
        return Selection(result, blocked)
    if not blockers:
        return Selection(NoCapacity(math.inf, None), blocked)
    all_blockers = [blocker for _, blocker in blockers]
    first = min(all_blockers, key=attrgetter("until"))
    return Selection(NoCapacity(max(first.until - now, 0.0), first), blocked, all_blockers)


def _earliest_recovery(
    candidates: CandidateSet,
    blockers: Iterable[tuple[int, Blocker]],
    request: PickRequest,
    now: float,
    reason: PickReason,
) -> Selected | NoCapacity | None:
    """Return the candidate whose estimated cooldown ends first; `NoCapacity` while each of them has its probe."""
    estimates = [
        (position, blocker)
        for position, blocker in blockers
        if _is_overridable(blocker, request) and _is_estimate_only(candidates, position, request, now)
    ]
    if not estimates:
        return None
    probes = {position: candidates.deployments[position].estimate_probe_until for position, _ in estimates}
    free = [(position, blocker) for position, blocker in estimates if request.is_final_try or probes[position] <= now]
    if free:
        # Requests in flight count too, or all traffic would go to the account whose cooldown ends first.
        ends = {
            position: blocker.until + candidates.deployments[position].account.in_flight for position, blocker in free
        }
        return Selected(min(ends, key=lambda position: (ends[position], position)), reason)
    position = min(probes, key=lambda candidate: (probes[candidate], candidate))
    account = candidates.deployments[position].spec.account
    blocker = Blocker(BlockReason.ESTIMATE_PROBE, probes[position], account, Certainty.ESTIMATED)
    return NoCapacity(probes[position] - now, blocker)


def _is_estimate_only(candidates: CandidateSet, position: int, request: PickRequest, now: float) -> bool:
    """Return whether nothing but an estimate of ours blocks a candidate."""
    deployment = candidates.deployments[position]
    blocker = blocker_of(deployment, request, now)
    if blocker is None or deployment.spec.id in request.excluded or not _is_overridable(blocker, request):
        return False
    limit = deployment.limit_blocker(request.usage, now, ignore_leases=request.ignores_leases)
    return limit is None or _is_overridable(limit, request)


def _is_overridable(blocker: Blocker, request: PickRequest) -> bool:
    is_share = blocker.certainty is Certainty.LOCAL_SHARE and request.is_final_try
    return is_share or blocker.certainty is Certainty.ESTIMATED
