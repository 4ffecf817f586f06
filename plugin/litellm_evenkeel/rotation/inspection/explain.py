"""Why the next pick is what it is: the live choice, tried out without taking anything, and what each loser lacks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.inspection.simulation import SAMPLES, CountingRandom, selection_odds
from litellm_evenkeel.rotation.inspection.what_if import ExplainContext, required_changes
from litellm_evenkeel.support import formatting
from litellm_evenkeel.support.formatting import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason
    from litellm_evenkeel.rotation.state.cooldown import HealthState


@dataclass(frozen=True, slots=True)
class CandidateBlocker:
    """What keeps the request from a candidate."""

    why: BlockReason
    what: str
    """The limit or the reason, by name."""
    opens_in: float | None
    """Seconds; None if waiting does not help."""
    is_sure: bool
    """Whether a provider or an operator said so; a guess of ours never refuses a request by itself."""
    wanted: float
    left: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One that could have been chosen, and what came of it."""

    account: str
    deployment: str
    model: str
    tier: int
    chance: float
    """Which share of such requests it would get now."""
    is_possible: bool
    """Whether it may be chosen at all, however unlikely."""
    reason: PickReason | None
    """Why it is chosen, if it is."""
    score: float | None
    """How good the strategy finds it; more is better."""
    weight: float
    """How often it is drawn, beside others; 0 if it was shut when the snapshot was made."""
    account_state: HealthState
    model_state: HealthState
    obstacle: CandidateBlocker | None
    ramp: float
    """Which share of its traffic it may have: less than 1 on its way back from a hold."""
    in_flight: int
    """Requests under way at its account, over all models."""
    latency: float | None
    """Seconds, of late; None if nobody knows."""
    changes: tuple[str, ...]
    """What would have to change for it to be chosen, in sentences; nothing if it is what is chosen."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request, and all that could have answered it, the likeliest first."""

    model: str
    request: PickRequest
    strategy: str
    snapshot_age: float
    verdict: str
    """All of it in one sentence."""
    chosen: str | None
    """The account that is chosen most often; None if there is none now."""
    opens_in: float | None
    """Seconds until there may be one, where there is none now; None also if waiting does not help."""
    samples: int
    """How often the choice was tried; 1 where nothing is left to chance."""
    candidates: tuple[Candidate, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for a program; what is infinite or unknown is null."""
        request = self.request
        told = {
            "tokens": request.usage.tokens,
            "dollars": request.usage.dollars,
            "tried": sorted(request.excluded),
            "pinned_to": request.preferred_account,
            "stream": request.is_stream,
        }
        return {
            "model": self.model,
            "asked": told,
            "strategy": self.strategy,
            "snapshot_age_seconds": finite(self.snapshot_age),
            "verdict": self.verdict,
            "chosen": self.chosen,
            "opens_in_seconds": finite(self.opens_in),
            "samples": self.samples,
            "candidates": [_plain(one) for one in self.candidates],
        }


def _plain(one: Candidate) -> dict[str, Any]:
    found = asdict(one)
    for name in ("chance", "score", "weight", "ramp", "latency"):
        found[name] = finite(found[name])
    found["latency_seconds"] = found.pop("latency")
    obstacle = found["obstacle"]
    if obstacle is not None:
        obstacle["opens_in_seconds"] = finite(obstacle.pop("opens_in"))
        obstacle["wanted"], obstacle["left"] = finite(obstacle["wanted"]), finite(obstacle["left"])
    found["changes"] = list(one.changes)
    return found


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
        f"{scene.twin.deployments[position].spec.account} {formatting.share(chance)}"
        for position, chance in sorted(found.shares.items(), key=lambda one: -one[1])
        if position != best
    ]
    also = f", then {formatting.names(others)}" if others else ""
    return f"{account} gets {formatting.share(found.shares[best])} of such requests ({found.reasons[best]}){also}"


def _nobody(no_capacity: NoCapacity | None) -> str:
    if no_capacity is None or no_capacity.blocker is None:
        return "nobody: there are no candidates"
    if no_capacity.available_in == math.inf:
        return f"nobody: {no_capacity.blocker.reason}, and waiting does not help"
    what = f" ({no_capacity.blocker.detail})" if no_capacity.blocker.detail else ""
    opens = formatting.time(no_capacity.available_in)
    return f"nobody now; the first opens in {opens}: {no_capacity.blocker.reason}{what}"
