"""Which candidate of a group a request gets: its session's, the best by the strategy, or the one that makes do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet

Selected = tuple[int, PickReason]


def select(
    candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]
) -> Selected | NoCapacity:
    """Return the position of the one to take, and why it is that one; or that there is none."""
    if request.preferred_account is not None:
        pinned = select_pinned(candidates, request, now, random)
        if pinned is not None:
            return pinned, PickReason.STICKY
        blocker = pending_lease(candidates, request, now)
        if blocker is not None:
            return NoCapacity(max(blocker.until - now, 0.0), blocker)
    if candidates.blocker is not None and is_known_saturated(candidates, request, now):
        return _among_freed(candidates, request, now, random) or NoCapacity(
            max(candidates.blocked_until - now, 0.0), candidates.blocker
        )
    return _first_available(_ranked(candidates, request, now), candidates, request, now, random) or _fallback(
        candidates, request, now
    )


def select_pinned(
    candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]
) -> int | None:
    """Return the position at which the session is pinned, if it may be used; on its way back, not by all."""
    if request.preferred_account is None:
        return None
    for position in candidates.positions_by_account.get(request.preferred_account, ()):
        deployment = candidates.deployments[position]
        if deployment.spec.id not in request.excluded and deployment.blocker(request.usage, now) is None:
            share = deployment.traffic_share(now)
            if share >= 1 or random() < share:
                return position
    return None


def pending_lease(candidates: CandidateSet, request: PickRequest, now: float) -> Blocker | None:
    """Return what the session's account lacks only for a moment, if that is all that keeps the request from it."""
    if request.preferred_account is None or request.is_final_try:
        return None
    for position in candidates.positions_by_account.get(request.preferred_account, ()):
        deployment = candidates.deployments[position]
        blocker = None if deployment.spec.id in request.excluded else deployment.blocker(request.usage, now)
        if blocker is not None and blocker.is_lease_pending:
            return blocker
    return None


def is_known_saturated(candidates: CandidateSet, request: PickRequest, now: float) -> bool:
    """Return whether all were found shut for such a request, and none can have opened but those that were freed."""
    is_found = (
        now < candidates.blocked_until
        and request.usage.tokens >= candidates.blocked_tokens
        and candidates.blocker is not None
    )
    return is_found and not request.is_final_try


def _ranked(candidates: CandidateSet, request: PickRequest, now: float) -> Iterator[int]:
    snapshot = candidates.snapshot
    for tier in snapshot.tiers:
        yield from candidates.strategy.rank(tier, candidates.deployments, request, now)
    # Those that were shut when the snapshot was made: they may have opened since, or be open to a smaller request.
    for position, weight in enumerate(snapshot.weights):
        if not weight:
            yield position


def _first_available(
    positions: Iterable[int], candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]
) -> Selected | NoCapacity | None:
    """Return the first that is open; a later tier waits for what an earlier one lacks only for a moment."""
    found, lacks, tier = None, None, math.inf
    for position in positions:
        deployment = candidates.deployments[position]
        if deployment.spec.id in request.excluded:
            continue
        blocker = deployment.blocker(request.usage, now)
        if blocker is not None:
            candidates.note_blocked(position, request.usage, now)
            if blocker.is_lease_pending and not request.is_final_try and deployment.spec.priority < tier:
                lacks, tier = blocker, deployment.spec.priority
            continue
        share = deployment.traffic_share(now)
        if share >= 1 or random() < share:
            found = position, PickReason.STRATEGY
            break
        found = (position, PickReason.RAMP_UP) if found is None else found
    if found is not None and lacks is not None and tier < candidates.deployments[found[0]].spec.priority:
        return NoCapacity(max(lacks.until - now, 0.0), lacks)
    return found


def _among_freed(
    candidates: CandidateSet, request: PickRequest, now: float, random: Callable[[], float]
) -> Selected | NoCapacity | None:
    """Look only where something has happened since all were found shut."""
    freed = candidates.freed_by_priority()
    found = _first_available(freed, candidates, request, now, random) or next(
        (
            (position, PickReason.EARLIEST_RECOVERY)
            for position in freed
            if _is_estimate_only(candidates, position, request, now)
        ),
        None,
    )
    if found is None and not request.excluded:
        candidates.note_still_saturated(request.usage)
    return found


def _is_estimate_only(candidates: CandidateSet, position: int, request: PickRequest, now: float) -> bool:
    """Return whether nothing but a guess of ours stands in the way."""
    deployment = candidates.deployments[position]
    blocker = deployment.blocker(request.usage, now)
    if blocker is None or deployment.spec.id in request.excluded or not _is_overridable(blocker, request):
        return False
    limit = deployment.limit_blocker(request.usage, now)
    return limit is None or _is_overridable(limit, request)


def _recovery_order(candidates: CandidateSet, found: tuple[float, int, Blocker]) -> tuple[float, int]:
    """Return when one opens and where it stands: later by a second for each request that is under way there.

    What makes do is spread, or all of it would fall on the one whose hold ends first.
    """
    opens_at, position, _ = found
    return opens_at + candidates.deployments[position].account.in_flight, position


def _is_overridable(blocker: Blocker, request: PickRequest) -> bool:
    return not blocker.is_confirmed or (blocker.is_local_share and request.is_final_try)


def _fallback(candidates: CandidateSet, request: PickRequest, now: float) -> Selected | NoCapacity:
    """Return the one whose hold ends first, if that is a guess of ours; else say who will be free first, and when."""
    blockers = [
        (blocker.until, position, blocker)
        for position, deployment in enumerate(candidates.deployments)
        if (blocker := deployment.blocker(request.usage, now)) is not None
    ]
    found = _earliest_recovery(candidates, blockers, request, now, PickReason.EARLIEST_RECOVERY)
    if found is not None:
        return found
    for position, deployment in enumerate(candidates.deployments):
        if deployment.spec.id in request.excluded and deployment.blocker(request.usage, now) is None:
            return position, PickReason.RETRY_SAME
    untried = request._replace(excluded=frozenset())
    found = _earliest_recovery(candidates, blockers, untried, now, PickReason.RETRY_SAME)
    if found is not None:
        return found
    if not blockers:
        return NoCapacity(math.inf, None)
    # Those that it has tried among them: what has failed once is not dead.
    # Every single one is shut here, by what is sure.
    first = candidates.note_saturated([blocker for _, _, blocker in blockers], request.usage, now)
    return NoCapacity(max(first.until - now, 0.0), first)


def _earliest_recovery(
    candidates: CandidateSet,
    blockers: Iterable[tuple[float, int, Blocker]],
    request: PickRequest,
    now: float,
    reason: PickReason,
) -> Selected | NoCapacity | None:
    """Return the one whose hold ends first, of those that only guesses hold; while each is on trial, that it is."""
    yielding = [one for one in blockers if _is_overridable(one[2], request)]
    guesses = [
        _recovery_order(candidates, one) for one in yielding if _is_estimate_only(candidates, one[1], request, now)
    ]
    if not guesses:
        return None
    trials = [(candidates.deployments[position].estimate_probe_until, position) for _, position in guesses]
    free = [one for one, (ends, _) in zip(guesses, trials, strict=True) if request.is_final_try or ends <= now]
    if free:
        return min(free)[1], reason
    ends, position = min(trials)
    return NoCapacity(
        ends - now,
        Blocker(BlockReason.ESTIMATE_PROBE, ends, candidates.deployments[position].spec.account, is_confirmed=False),
    )
