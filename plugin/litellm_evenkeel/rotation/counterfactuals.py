"""What would have to change for a candidate to be chosen, in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from litellm_evenkeel.rotation import said, what_if
from litellm_evenkeel.rotation.bars import Blocker, BlockReason
from litellm_evenkeel.rotation.picks import PickReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from litellm_evenkeel.rotation.asked import PickRequest
    from litellm_evenkeel.rotation.chances import SelectionOdds
    from litellm_evenkeel.rotation.group import CandidateSet
    from litellm_evenkeel.rotation.place import DeploymentState

HELD = frozenset({BlockReason.COOLDOWN, BlockReason.PROBING, BlockReason.QUARANTINED})


@dataclass(frozen=True, slots=True)
class ExplainContext:
    """All that the sentences are made from."""

    twin: CandidateSet
    request: PickRequest
    now: float
    chances: SelectionOdds
    best: int | None
    """The position of the one that is chosen most often."""
    first: tuple[str, ...]
    """The accounts that are chosen at all."""
    weights: Mapping[int, float]
    """Of all candidates of a tier."""

    @classmethod
    def of(cls, twin: CandidateSet, request: PickRequest, now: float, chances: SelectionOdds) -> Self:
        """Put together what is known."""
        weights = {tier.priority: tier.cumulative_weights[-1] for tier in twin.snapshot.tiers}
        first = tuple(sorted({twin.deployments[one].spec.account for one in chances.shares}))
        return cls(twin, request, now, chances, chances.likeliest, first, weights)

    def score(self, position: int, deployment: DeploymentState | None = None) -> float:
        """Return a candidate's score, as it is or as it would be."""
        one = deployment or self.twin.deployments[position]
        return self.twin.strategy.score(position, one, self.request, self.now)


def required_changes(position: int, scene: ExplainContext) -> Iterator[str]:
    """Yield what would have to change; several where all of it would, nothing for the one that is chosen."""
    if position == scene.best:
        return
    deployment = scene.twin.deployments[position]
    if deployment.spec.id in scene.request.excluded:
        yield "this request has failed there: it is tried again only when no other is left"
    blocker = deployment.blocker(scene.request.usage, scene.now)
    if blocker is not None:
        yield _opens(blocker, deployment, scene.now)
        limit = deployment.limit_blocker(scene.request.usage, scene.now) if blocker.reason in HELD else None
        if limit is not None:
            yield _opens(limit, deployment, scene.now)
    elif scene.best is not None and deployment.spec.id not in scene.request.excluded:
        yield from _among_open(position, deployment, scene.best, scene)


def _among_open(position: int, deployment: DeploymentState, best: int, scene: ExplainContext) -> Iterator[str]:
    chosen = scene.twin.deployments[best].spec
    if scene.chances.reasons[best] is PickReason.STICKY:
        yield f"the session sticks to {chosen.account}"
        return
    if not scene.twin.snapshot.weights[position]:
        age = scene.now - scene.twin.snapshot.taken
        ago = said.time(max(age, 0.0))
        yield f"it was shut to a usual request when the snapshot was made, {ago} ago: till the next, others go first"
        return
    if deployment.spec.priority > chosen.priority:
        yield f"nobody of tier {chosen.priority} has room: {said.names(scene.first)} would have to be shut"
        return
    ramp = deployment.traffic_share(scene.now)
    if ramp < 1:
        yield f"it is on its way back from a hold, with {said.share(ramp)} of its traffic so far"
    if position in scene.chances.possible:
        yield _is_chance(position, deployment, scene)
    if not scene.twin.strategy.is_by_turn:
        yield _scores(position, deployment, best, scene)
    elif position not in scene.chances.possible:
        yield f"its turn comes, after {chosen.account}"


def _is_chance(position: int, deployment: DeploymentState, scene: ExplainContext) -> str:
    weight, of_tier = scene.twin.snapshot.weights[position], scene.weights[deployment.spec.priority]
    chance = scene.chances.shares.get(position, 0.0)
    told = f"{said.share(chance)} of requests" if chance else f"fewer than one in {scene.chances.samples}"
    return f"by chance it gets {told}: it is drawn with weight {weight:.3g} of {of_tier:.3g}"


def _scores(position: int, deployment: DeploymentState, best: int, scene: ExplainContext) -> str:
    to_beat, has = scene.score(best), scene.score(position)
    if has >= to_beat:
        return f"its score {has:.3g} is no worse than that of {scene.twin.deployments[best].spec.account}"
    lack = f"score {to_beat:.3g} needed, has {has:.3g}"
    change = what_if.needed(deployment, scene.now, lambda other: scene.score(position, other) >= to_beat)
    return f"{lack}: {change}" if change else f"{lack}: it would have less even if nothing of it were used"


def _opens(blocker: Blocker, deployment: DeploymentState, now: float) -> str:
    opens_in = max(blocker.until - now, 0.0)
    return SENTENCES[blocker.reason](blocker, deployment, said.time(opens_in) if opens_in < math.inf else "")


def _quarantined(blocker: Blocker, deployment: DeploymentState, _: str) -> str:
    return (
        f"an operator releases it ({blocker.detail}): POST /evenkeel/accounts/{quote(deployment.spec.account)}/release"
    )


def _held(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    guess = "" if blocker.is_confirmed else "; nobody said how long, so it is also taken when all others are shut"
    return f"its hold ends in {soon} ({blocker.detail}){guess}"


def _probing(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    return f"the request that probes it succeeds, or is given up in {soon} ({blocker.detail})"


def _trial(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    return f"the request that finds out about {blocker.detail} comes back, or does not in {soon}"


def _used_up(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    missing = max(blocker.needed - blocker.available, 0.0)
    unit = blocker.detail.partition("/")[0]
    unit = unit.removesuffix("s") if missing == 1 else unit
    when = f"in {soon}" if soon else "never"
    left = said.amount(max(blocker.available, 0.0))
    return f"frees {said.amount(missing)} {unit} {when} ({blocker.detail}: {left} left)"


def _busy(_: Blocker, deployment: DeploymentState, __: str) -> str:
    return f"one of its {deployment.account.in_flight} requests under way ends"


def _shared(_: Blocker, __: DeploymentState, soon: str) -> str:
    return f"its client gets another part of what is left, in {soon}"


SENTENCES: Mapping[BlockReason, Callable[[Blocker, DeploymentState, str], str]] = {
    BlockReason.QUARANTINED: _quarantined,
    BlockReason.COOLDOWN: _held,
    BlockReason.PROBING: _probing,
    BlockReason.ESTIMATE_PROBE: _trial,
    BlockReason.LIMIT: _used_up,
    BlockReason.CONCURRENCY: _busy,
    BlockReason.FAIR_SHARE: _shared,
}
