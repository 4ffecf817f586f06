"""Why the next pick is what it is: the live choice, tried out without taking anything, and what each loser lacks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation import said
from litellm_evenkeel.rotation.chances import SAMPLES, CountingRandom, selection_odds
from litellm_evenkeel.rotation.counterfactuals import ExplainContext, required_changes
from litellm_evenkeel.rotation.explanation import Candidate, CandidateBlocker, Explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from litellm_evenkeel.rotation.asked import PickRequest
    from litellm_evenkeel.rotation.bars import Blocker
    from litellm_evenkeel.rotation.group import CandidateSet
    from litellm_evenkeel.rotation.picks import NoCapacity
    from litellm_evenkeel.rotation.pool import AccountPool

# After so many candidates, others get the thread.
SLICE = 16


def explain(
    pool: AccountPool,
    candidates: CandidateSet,
    request: PickRequest,
    now: float,
    *,
    random: Callable[[], float],
    samples: int = SAMPLES,
) -> Explanation:
    """Say what a pick would be now; `random` is not the pool's own source, so that its next draws stay the same."""
    steps = explaining(pool, candidates, request, now, random=random, samples=samples)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Explanation = end.value
            return found


def explaining(
    pool: AccountPool,
    candidate_set: CandidateSet,
    request: PickRequest,
    now: float,
    *,
    random: Callable[[], float],
    samples: int = SAMPLES,
) -> Generator[None, None, Explanation]:
    """Say the same, and yield at times; what happens meanwhile is partly in it."""
    pool.expire_reservations(now)
    coin = CountingRandom(random)
    twin = pool.twin(candidate_set, coin)
    found = yield from selection_odds(twin, request, now, coin, samples)
    scene = ExplainContext.of(twin, request, now, found)
    candidates = []
    for position in range(len(twin.deployments)):
        if position % SLICE == SLICE - 1:
            yield
        candidates.append(_candidate(position, scene))
    candidates.sort(key=lambda one: (-one.chance, not one.is_possible, one.tier, -(one.score or 0.0)))
    best = found.likeliest
    return Explanation(
        model=candidate_set.name,
        request=request,
        strategy=str(pool.settings.strategy),
        snapshot_age=max(now - twin.snapshot.taken, 0.0),
        verdict=_verdict(scene),
        chosen=None if best is None else twin.deployments[best].spec.account,
        opens_in=found.no_capacity.available_in if found.no_capacity else None,
        samples=found.samples,
        candidates=tuple(candidates),
    )


def _candidate(position: int, scene: ExplainContext) -> Candidate:
    deployment, now = scene.twin.deployments[position], scene.now
    spec, found = deployment.spec, scene.chances
    blocker = deployment.blocker(scene.request.usage, now)
    return Candidate(
        account=spec.account,
        deployment=spec.id,
        model=spec.model,
        tier=spec.priority,
        chance=found.shares.get(position, 0.0),
        is_possible=position in found.possible,
        reason=found.reasons.get(position),
        score=scene.score(position),
        weight=scene.twin.snapshot.weights[position],
        account_state=deployment.account.cooldown.state(now),
        model_state=deployment.model.cooldown.state(now),
        obstacle=None if blocker is None else _obstacle(blocker, now),
        ramp=deployment.traffic_share(now),
        in_flight=deployment.account.in_flight,
        latency=deployment.latency.current(now) or None,
        changes=tuple(required_changes(position, scene)),
    )


def _obstacle(blocker: Blocker, now: float) -> CandidateBlocker:
    return CandidateBlocker(
        blocker.reason,
        blocker.detail,
        max(blocker.until - now, 0.0),
        blocker.is_confirmed,
        blocker.needed,
        blocker.available,
    )


def _verdict(scene: ExplainContext) -> str:
    found, best = scene.chances, scene.best
    if best is None:
        return _nobody(found.no_capacity)
    account = scene.twin.deployments[best].spec.account
    if found.samples == 1 or {scene.twin.deployments[one].spec.account for one in found.possible} == {account}:
        return f"{account} is chosen ({found.reasons[best]})"
    others = [
        f"{scene.twin.deployments[position].spec.account} {said.share(chance)}"
        for position, chance in sorted(found.shares.items(), key=lambda one: -one[1])
        if position != best
    ]
    also = f", then {said.names(others)}" if others else ""
    return f"{account} gets {said.share(found.shares[best])} of such requests ({found.reasons[best]}){also}"


def _nobody(no_capacity: NoCapacity | None) -> str:
    if no_capacity is None or no_capacity.blocker is None:
        return "nobody: there are no candidates"
    if no_capacity.available_in == math.inf:
        return f"nobody: {no_capacity.blocker.reason}, and waiting does not help"
    what = f" ({no_capacity.blocker.detail})" if no_capacity.blocker.detail else ""
    return f"nobody now; the first opens in {said.time(no_capacity.available_in)}: {no_capacity.blocker.reason}{what}"
