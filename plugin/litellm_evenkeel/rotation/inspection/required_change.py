"""The change that is required for a candidate to be picked, in one sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, assert_never
from urllib.parse import quote

from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason, Certainty
from litellm_evenkeel.rotation.selection.pick import PickReason
from litellm_evenkeel.rotation.selection.selector import blocker_of
from litellm_evenkeel.support import formatting

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.selection.selector import Selected
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Blockers that say nothing of the limits: a limit may block the candidate as well.
WITHOUT_LIMIT = frozenset(
    {
        BlockReason.PAUSED,
        BlockReason.DRAINING,
        BlockReason.QUARANTINED,
        BlockReason.COOLDOWN,
        BlockReason.PROBING,
    }
)


def required_change(
    position: int, selected: Selected | None, candidates: CandidateSet, request: PickRequest, now: float
) -> str:
    """Return what would have to change for the candidate at `position` to be picked instead of `selected`."""
    deployment = candidates.deployments[position]
    if deployment.spec.id in request.excluded:
        return "this request failed there, and is tried there again only if no other candidate is left"
    blocker = blocker_of(deployment, request, now)
    if blocker is not None:
        limit = None
        if blocker.reason in WITHOUT_LIMIT:
            limit = deployment.limit_blocker(request.usage, now, ignore_leases=request.ignores_leases)
        return "; and ".join(_end_of(each, deployment, now) for each in (blocker, limit) if each is not None)
    return "" if selected is None else _behind(position, selected, candidates, request, now)


def _behind(position: int, selected: Selected, candidates: CandidateSet, request: PickRequest, now: float) -> str:
    """Return why an available candidate comes behind the selected one."""
    deployment, picked = candidates.deployments[position], candidates.deployments[selected.position]
    if selected.reason is PickReason.PINNED:
        return f"the session is pinned to {picked.spec.account}"
    if not candidates.snapshot.weights[position]:
        age = formatting.time(max(now - candidates.snapshot.taken, 0.0))
        return f"it was blocked when the snapshot was built, {age} ago; until the next one, other candidates go first"
    if deployment.spec.priority > picked.spec.priority:
        return f"all candidates of priority {picked.spec.priority} would have to be blocked"
    share = deployment.traffic_share(now)
    if share < 1:
        return f"it is ramping up, and takes {formatting.share(share)} of its traffic so far"
    score, best = (candidates.strategy.score(each, request, now) for each in (position, selected.position))
    if score >= best:
        return f"its score of {score:.3g} is as good as that of {picked.spec.account}: it depends on the draw"
    return f"its score of {score:.3g} would have to exceed the {best:.3g} of {picked.spec.account}"


def _end_of(blocker: Blocker, deployment: DeploymentState, now: float) -> str:
    """Return what ends a blocker, and in which time."""
    seconds = max(blocker.until - now, 0.0)
    ends_in = formatting.time(seconds)
    match blocker.reason:
        case BlockReason.PAUSED | BlockReason.DRAINING:
            route = f"POST /evenkeel/accounts/{quote(deployment.spec.account)}/resume"
            end = "" if seconds == math.inf else f", or the end in {ends_in}"
            sentence = f"needs an operator to resume it{end}: {route}"
        case BlockReason.QUARANTINED:
            route = f"POST /evenkeel/accounts/{quote(deployment.spec.account)}/release"
            sentence = f"needs a release by an operator ({blocker.detail}): {route}"
        case BlockReason.COOLDOWN:
            is_estimate = blocker.certainty is Certainty.ESTIMATED
            estimate = "; that is an estimate, so it is picked earlier if all others are blocked" if is_estimate else ""
            sentence = f"its cooldown ends in {ends_in} ({blocker.detail}){estimate}"
        case BlockReason.PROBING:
            sentence = f"its probe has to succeed, or times out in {ends_in} ({blocker.detail})"
        case BlockReason.ESTIMATE_PROBE:
            sentence = f"the probe at {blocker.detail} has to end, or times out in {ends_in}"
        case BlockReason.LIMIT:
            missing = max(blocker.needed - blocker.available, 0.0)
            unit = blocker.detail.partition("/")[0]
            unit = unit.removesuffix("s") if missing == 1 else unit
            left = formatting.amount(max(blocker.available, 0.0))
            when = f"free in {ends_in}" if seconds < math.inf else "which is never free"
            sentence = f"needs {formatting.amount(missing)} {unit}, {when} ({blocker.detail}: {left} left)"
        case BlockReason.CONCURRENCY:
            sentence = f"one of its {deployment.account.in_flight} requests in flight has to end"
        case BlockReason.FAIR_SHARE:
            sentence = f"the client has used its fair share, and gets more in {ends_in}"
        case _:
            assert_never(blocker.reason)
    return sentence
