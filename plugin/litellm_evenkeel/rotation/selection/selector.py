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
from litellm_evenkeel.rotation.model.request import Probes
from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason
from litellm_evenkeel.rotation.state.cooldown import ESTIMATE_PROBE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
    blocked: Mapping[int, Blocker]
    """Blockers of the candidates that were looked at, by position."""
    is_saturated: bool = False
    """Whether all candidates are blocked, and none of the blockers may be overridden."""
    is_too_little_freed: bool = False
    """Whether the set was saturated, and what was freed since is too little for the request."""


def select(candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]) -> Selection:
    """Select a candidate for a request, or return the blocker that ends first."""
    blocked: dict[int, Blocker] = {}
    if request.preferred_account is not None or request.fallback_account is not None:
        pinned = _select_pinned(candidates, request, now, random, blocked)
        if pinned is not None:
            return Selection(pinned, blocked)
    saturation = candidates.saturation
    if saturation.blocker is not None and saturation.applies_to(request, now):
        freed = candidates.freed_by_priority()
        result = _first_available(freed, candidates, request, now, random, blocked) or next(
            (
                Selected(position, PickReason.EARLIEST_RECOVERY)
                for position in freed
                if _is_estimate_only(candidates, position, request, now)
                and _may_try(candidates.deployments[position], request)
            ),
            None,
        )
        if result is not None:
            return Selection(result, blocked)
        until = min([saturation.until, *(blocker.until for blocker in blocked.values())])
        no_capacity = NoCapacity(max(until - now, 0.0), saturation.blocker)
        return Selection(no_capacity, blocked, is_too_little_freed=not request.excluded)
    ranked = _ranked(candidates, request, now, random)
    result = _first_available(ranked, candidates, request, now, random, blocked)
    return Selection(result, blocked) if result is not None else _fallback(candidates, request, now)


def _select_pinned(
    candidates: CandidateSet,
    request: PickRequest,
    now: float,
    random: Callable[[], float],
    blocked: dict[int, Blocker],
) -> Selected | NoCapacity | None:
    """Select the session's account, else its fallback account. The request waits for one that lacks only a lease.

    During its ramp-up, an account takes only a share; the session's own takes none if there is a fallback account.
    """
    for account in (request.preferred_account, request.fallback_account):
        is_replaced = account == request.preferred_account and request.fallback_account is not None
        pending = None
        for position in () if account is None else candidates.positions_by_account.get(account, ()):
            deployment = candidates.deployments[position]
            if deployment.spec.id in request.excluded:
                continue
            blocker = blocker_of(deployment, request, now)
            if blocker is not None and blocker.reason is BlockReason.DRAINING and account == request.preferred_account:
                blocker = deployment.blocker_while_draining(request.usage, now)
            if blocker is None:
                share = deployment.traffic_share(now)
                if share >= 1 or (not is_replaced and random() < share):
                    return Selected(position, PickReason.PINNED)
                continue
            blocked[position] = blocker
            if blocker.certainty is Certainty.LEASE_PENDING and pending is None:
                pending = blocker
        if pending is not None and not request.is_final_try:
            return NoCapacity(max(pending.until - now, 0.0), pending)
    return None


def blocker_of(deployment: DeploymentState, request: PickRequest, now: float) -> Blocker | None:
    """Return what blocks a request at a deployment, or `None`."""
    if request.ignores_leases:
        return deployment.total_blocker(request.usage, now)
    blocker = deployment.blocker(request.usage, now)
    if blocker is None and request.probes is Probes.NONE and deployment.is_unproven and not request.is_final_try:
        return Blocker(BlockReason.ESTIMATE_PROBE, math.inf, deployment.spec.account, Certainty.ESTIMATED)
    return blocker


def reason_of_strategy(deployment: DeploymentState) -> PickReason:
    """Return why a deployment is picked that ranks first: after a cooldown, the request is its probe."""
    is_cooling_down = deployment.account.cooldown.kind is not None or deployment.model.cooldown.kind is not None
    return PickReason.PROBE if is_cooling_down else PickReason.STRATEGY


def _ranked(candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]) -> Iterator[int]:
    snapshot = candidates.snapshot
    for level in snapshot.levels:
        yield from candidates.strategy.rank(level, request, now, random)
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
    blocked: dict[int, Blocker],
) -> Selected | NoCapacity | None:
    """Return the first available candidate. A later priority waits for a lease that an earlier one lacks."""
    selected, pending, pending_priority = None, None, math.inf
    for position in positions:
        deployment = candidates.deployments[position]
        if deployment.spec.id in request.excluded:
            continue
        blocker = blocker_of(deployment, request, now)
        if blocker is not None:
            blocked[position] = blocker
            is_pending = blocker.certainty is Certainty.LEASE_PENDING and not request.is_final_try
            if is_pending and deployment.spec.priority < pending_priority:
                pending, pending_priority = blocker, deployment.spec.priority
            continue
        share = deployment.traffic_share(now)
        if share >= 1 or random() < share:
            selected = Selected(position, reason_of_strategy(deployment))
            break
        selected = selected or Selected(position, PickReason.RAMP_UP)
    if selected is None or pending is None:
        return selected
    is_later = pending_priority < candidates.deployments[selected.position].spec.priority
    return NoCapacity(max(pending.until - now, 0.0), pending) if is_later else selected


def _fallback(candidates: CandidateSet, request: PickRequest, now: float) -> Selection:
    """Select a candidate that only an estimate blocks, or one that failed this request, else return no capacity."""
    blockers = {
        position: blocker
        for position, deployment in enumerate(candidates.deployments)
        if (blocker := blocker_of(deployment, request, now)) is not None
    }
    untried = _earliest_recovery(candidates, blockers, request, now, PickReason.EARLIEST_RECOVERY)
    if isinstance(untried, Selected):
        return Selection(untried, blockers)
    for position, deployment in enumerate(candidates.deployments):
        if deployment.spec.id in request.excluded and position not in blockers:
            return Selection(Selected(position, PickReason.RETRY_SAME), blockers)
    # A deployment at which this request failed once may work by now.
    anywhere = request._replace(excluded=frozenset())
    tried = _earliest_recovery(candidates, blockers, anywhere, now, PickReason.RETRY_SAME)
    result = tried if isinstance(tried, Selected) else untried or tried
    if result is not None:
        return Selection(result, blockers)
    if not blockers:
        return Selection(NoCapacity(math.inf, None), blockers)
    first = min(blockers.values(), key=attrgetter("until"))
    return Selection(NoCapacity(max(first.until - now, 0.0), first), blockers, is_saturated=True)


def _earliest_recovery(
    candidates: CandidateSet,
    blockers: Mapping[int, Blocker],
    request: PickRequest,
    now: float,
    reason: PickReason,
) -> Selected | NoCapacity | None:
    """Return the candidate whose estimated cooldown ends first.

    Return `NoCapacity` while the request has to wait for probes, its own or those of others; `None` without estimates.
    """
    estimates = [
        (position, blocker)
        for position, blocker in blockers.items()
        if _is_overridable(blocker, request) and _is_estimate_only(candidates, position, request, now)
    ]
    if not estimates:
        return None
    probes = {position: candidates.deployments[position].estimate_probe_until for position, _ in estimates}
    free = [
        (position, blocker)
        for position, blocker in estimates
        if request.is_final_try or (probes[position] <= now and _may_try(candidates.deployments[position], request))
    ]
    if free:
        # Requests in flight count too, or all traffic would go to the account whose cooldown ends first.
        ends = {
            position: blocker.until + candidates.deployments[position].account.in_flight for position, blocker in free
        }
        return Selected(min(ends, key=lambda position: (ends[position], position)), reason)
    position = min(probes, key=lambda candidate: (probes[candidate], candidate))
    account, until = candidates.deployments[position].spec.account, probes[position]
    if request.probes is not Probes.ANY:
        # A success of another request reports itself; the end of a cooldown does not.
        until = min(now + ESTIMATE_PROBE_SECONDS, *(blocker.until for _, blocker in estimates))
    return NoCapacity(until - now, Blocker(BlockReason.ESTIMATE_PROBE, until, account, Certainty.ESTIMATED))


def _may_try(deployment: DeploymentState, request: PickRequest) -> bool:
    """Return whether a request may go to a deployment in an estimated cooldown: as its probe, or after a success."""
    return request.probes is Probes.ANY or not deployment.is_unproven


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
