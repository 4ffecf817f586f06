"""The change that is required for a candidate to be picked, in one sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from urllib.parse import quote

from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason, Certainty
from litellm_evenkeel.rotation.selection.pick import PickReason
from litellm_evenkeel.rotation.selection.selector import blocker_of
from litellm_evenkeel.support import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.selection.selector import Selected
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Blockers that say nothing of the limits: a limit may block the candidate as well.
WITHOUT_LIMIT = frozenset({BlockReason.QUARANTINED, BlockReason.COOLDOWN, BlockReason.PROBING})


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
    seconds = max(blocker.until - now, 0.0)
    return SENTENCES[blocker.reason](blocker, deployment, formatting.time(seconds) if seconds < math.inf else "")


def _quarantined(blocker: Blocker, deployment: DeploymentState, _: str) -> str:
    return f"needs a release by an operator ({blocker.detail}): POST {release_path(deployment.spec.account)}"


def _cooldown(blocker: Blocker, _: DeploymentState, ends_in: str) -> str:
    is_estimate = blocker.certainty is Certainty.ESTIMATED
    estimate = "; that is an estimate, so it is picked earlier if all others are blocked" if is_estimate else ""
    return f"its cooldown ends in {ends_in} ({blocker.detail}){estimate}"


def _probing(blocker: Blocker, _: DeploymentState, ends_in: str) -> str:
    return f"its probe has to succeed, or times out in {ends_in} ({blocker.detail})"


def _estimate_probe(blocker: Blocker, _: DeploymentState, ends_in: str) -> str:
    return f"the probe at {blocker.detail} has to end, or times out in {ends_in}"


def _limit(blocker: Blocker, _: DeploymentState, free_in: str) -> str:
    missing = max(blocker.needed - blocker.available, 0.0)
    unit = blocker.detail.partition("/")[0]
    unit = unit.removesuffix("s") if missing == 1 else unit
    left = formatting.amount(max(blocker.available, 0.0))
    when = f"free in {free_in}" if free_in else "which is never free"
    return f"needs {formatting.amount(missing)} {unit}, {when} ({blocker.detail}: {left} left)"


def _concurrency(_: Blocker, deployment: DeploymentState, __: str) -> str:
    return f"one of its {deployment.account.in_flight} requests in flight has to end"


def _fair_share(_: Blocker, __: DeploymentState, ends_in: str) -> str:
    return f"the client has used its fair share, and gets more in {ends_in}"


SENTENCES: Mapping[BlockReason, Callable[[Blocker, DeploymentState, str], str]] = {
    BlockReason.QUARANTINED: _quarantined,
    BlockReason.COOLDOWN: _cooldown,
    BlockReason.PROBING: _probing,
    BlockReason.ESTIMATE_PROBE: _estimate_probe,
    BlockReason.LIMIT: _limit,
    BlockReason.CONCURRENCY: _concurrency,
    BlockReason.FAIR_SHARE: _fair_share,
}


def release_path(account: str) -> str:
    """Return the route that releases an account."""
    return f"/evenkeel/accounts/{quote(account)}/release"
